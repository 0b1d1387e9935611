package model

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecode(t *testing.T) {
	run := Load()["RunInstances"]
	good := "MinCount=2&MaxCount=2&InstanceType=p5.48xlarge&TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=a&TagSpecification.1.Tag.1.Value=b"
	for _, c := range []struct{ form, code, text string }{
		{good, "", ""},
		{"MinCount=2", "MissingParameter", "MaxCount"},
		{good + "&Colour=red", "UnknownParameter", "Colour"},
		{good + "&Placement.Colour=red", "UnknownParameter", "Placement.Colour"},
		{good + "&ImageId.1=x", "UnknownParameter", "ImageId.1"},
		{good + "&SecurityGroup.x=a", "UnknownParameter", "SecurityGroup.x"},
		{"MinCount=two&MaxCount=2", "InvalidParameterValue", "'two' for MinCount"},
		{good + "&DryRun=perhaps", "InvalidParameterValue", "'perhaps' for DryRun"},
		{"MinCount=1&MaxCount=1&InstanceType=p5.48xlarger", "InvalidParameterValue", "'p5.48xlarger' for InstanceType"},
		{good + "&InstanceMarketOptions.SpotOptions.ValidUntil=soon", "InvalidParameterValue", "ValidUntil"},
	} {
		form, err := url.ParseQuery(c.form)
		if err != nil {
			t.Fatal(err)
		}
		_, err = run.Decode(form)
		var r *Refusal
		if c.code == "" && err != nil || c.code != "" && (!errors.As(err, &r) || r.Code != c.code || !strings.Contains(r.Text, c.text)) {
			t.Errorf("%s: %v, want %s about %s", c.form, err, c.code, c.text)
		}
	}
	form, _ := url.ParseQuery(good)
	got, _ := run.Decode(form)
	want := Doc{"MinCount": 2, "MaxCount": 2, "InstanceType": "p5.48xlarge", "TagSpecifications": []any{
		Doc{"ResourceType": "instance", "Tags": []any{Doc{"Key": "a", "Value": "b"}}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEncode(t *testing.T) {
	op := Load()["TerminateInstances"]
	got, err := op.Encode(Doc{"TerminatingInstances": []Doc{{"InstanceId": "i-<1>", "CurrentState": Doc{"Code": 32, "Name": "shutting-down"}}}}, "r")
	if err != nil {
		t.Fatal(err)
	}
	want := `<instancesSet><item><currentState><code>32</code><name>shutting-down</name></currentState><instanceId>i-&lt;1&gt;</instanceId></item></instancesSet>`
	if !strings.Contains(string(got), want) {
		t.Errorf("%s\nlacks %s", got, want)
	}
	for _, bad := range []Doc{{"Colour": "red"}, {"TerminatingInstances": "all"}, {"TerminatingInstances": []Doc{{"InstanceId": 7}}},
		{"TerminatingInstances": []Doc{{"CurrentState": Doc{"Name": "asleep"}}}}} {
		if out, err := op.Encode(bad, "r"); err == nil {
			t.Errorf("%v became %s", bad, out)
		}
	}
}
