package model

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
)

// pairs has the SDK's input and output of every action in the table.
var pairs = map[string][2]any{
	"RunInstances":                  {sdk.RunInstancesInput{}, sdk.RunInstancesOutput{}},
	"TerminateInstances":            {sdk.TerminateInstancesInput{}, sdk.TerminateInstancesOutput{}},
	"DescribeInstances":             {sdk.DescribeInstancesInput{}, sdk.DescribeInstancesOutput{}},
	"CreateTags":                    {sdk.CreateTagsInput{}, nil},
	"DescribeInstanceTypes":         {sdk.DescribeInstanceTypesInput{}, sdk.DescribeInstanceTypesOutput{}},
	"DescribeInstanceTypeOfferings": {sdk.DescribeInstanceTypeOfferingsInput{}, sdk.DescribeInstanceTypeOfferingsOutput{}},
	"DescribeSpotPriceHistory":      {sdk.DescribeSpotPriceHistoryInput{}, sdk.DescribeSpotPriceHistoryOutput{}},
	"DescribeSubnets":               {sdk.DescribeSubnetsInput{}, sdk.DescribeSubnetsOutput{}},
	"DescribeSecurityGroups":        {sdk.DescribeSecurityGroupsInput{}, sdk.DescribeSecurityGroupsOutput{}},
	"DescribeRouteTables":           {sdk.DescribeRouteTablesInput{}, sdk.DescribeRouteTablesOutput{}},
	"GetConsoleOutput":              {sdk.GetConsoleOutputInput{}, sdk.GetConsoleOutputOutput{}},
	"DescribeImages":                {sdk.DescribeImagesInput{}, sdk.DescribeImagesOutput{}},
	"CreatePlacementGroup":          {sdk.CreatePlacementGroupInput{}, sdk.CreatePlacementGroupOutput{}},
	"DescribePlacementGroups":       {sdk.DescribePlacementGroupsInput{}, sdk.DescribePlacementGroupsOutput{}},
	"DeletePlacementGroup":          {sdk.DeletePlacementGroupInput{}, nil},
	"DescribeInstanceTopology":      {sdk.DescribeInstanceTopologyInput{}, sdk.DescribeInstanceTopologyOutput{}},
	"DescribeCapacityReservations":  {sdk.DescribeCapacityReservationsInput{}, sdk.DescribeCapacityReservationsOutput{}},
	"CreateLaunchTemplate":          {sdk.CreateLaunchTemplateInput{}, sdk.CreateLaunchTemplateOutput{}},
	"DeleteLaunchTemplate":          {sdk.DeleteLaunchTemplateInput{}, sdk.DeleteLaunchTemplateOutput{}},
	"DescribeLaunchTemplates":       {sdk.DescribeLaunchTemplatesInput{}, sdk.DescribeLaunchTemplatesOutput{}},
	"CreateFleet":                   {sdk.CreateFleetInput{}, sdk.CreateFleetOutput{}},
}

// TestTableIsTheSDKs holds the table to the SDK that the project links: what the driver can ask
// and what it can read must be there. The table may know more: the two are published some days apart.
func TestTableIsTheSDKs(t *testing.T) {
	for name, op := range Load() {
		pair, ok := pairs[name]
		if !ok {
			t.Errorf("%s is not compared", name)
			continue
		}
		c := compare{t: t, seen: map[string]bool{}}
		c.same(op.in, reflect.TypeOf(pair[0]), name)
		if op.out != nil {
			c.same(op.out, reflect.TypeOf(pair[1]), name+" answer")
		}
	}
}

type compare struct {
	t    *testing.T
	seen map[string]bool
}

func (c *compare) same(s *shape, typ reflect.Type, path string) {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if c.seen[s.name] {
		return
	}
	switch kind := kindOf(typ); {
	case kind != s.kind && !(kind == "integer" && s.kind == "long"):
		c.t.Errorf("%s is a %s here, a %s in the SDK", path, s.kind, typ)
	case kind == "structure":
		c.seen[s.name] = true
		c.members(s, typ, path)
	case kind == "list":
		c.same(s.elem, typ.Elem(), path+"[]")
	case kind == "string" && s.enum != nil:
		c.enum(s, typ, path)
	}
}

func kindOf(typ reflect.Type) string {
	switch {
	case typ.String() == "time.Time":
		return "timestamp"
	case typ.Kind() == reflect.Float32 || typ.Kind() == reflect.Float64:
		return "double"
	case typ.Kind() == reflect.Int32 || typ.Kind() == reflect.Int64:
		return "integer"
	}
	return map[reflect.Kind]string{reflect.Struct: "structure", reflect.Slice: "list", reflect.Bool: "boolean", reflect.String: "string"}[typ.Kind()]
}

func (c *compare) members(s *shape, typ reflect.Type, path string) {
	fields := map[string]reflect.Type{}
	for i := range typ.NumField() {
		if f := typ.Field(i); f.IsExported() && f.Name != "ResultMetadata" {
			fields[f.Name] = f.Type
		}
	}
	for _, m := range s.members {
		if fields[m.name] == nil {
			continue
		}
		c.same(m.shape, fields[m.name], path+"."+m.name)
		delete(fields, m.name)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		c.t.Errorf("%s.%s is in the SDK only: make table.txt again from a newer model", path, name)
	}
}

func (c *compare) enum(s *shape, typ reflect.Type, path string) {
	m := reflect.Zero(typ).MethodByName("Values")
	if !m.IsValid() {
		c.t.Errorf("%s is no enum in the SDK", path)
		return
	}
	for _, v := range m.Call(nil)[0].Seq2() {
		if !s.enum[v.String()] {
			c.t.Errorf("%s has no value %q, which the SDK has", path, v)
		}
	}
}
