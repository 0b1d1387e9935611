package words

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"fsub/sbatch"
	"fsub/slurm/wire"
)

// byHand are fields that take more than a name, with where they are described, and those of which sites are not told.
var byHand = map[string]string{
	"Partition": "the partition that was chosen for the job", "Exclusive": "a word of another name", "Signal": "a name, a time and flags", "Het": "jobs of their own",
	"MinNodes": "a range", "MaxNodes": "a range", "NodeSizes": "a range", "NTasks": "derived where it is not given", "Dependency": "the federation has seen to it",
	"MemPerNode": "a number that may be all", "MemPerCPU": "one of three", "MemPerGPU": "one of three", "GRES": "joined with GPUs", "TRESPerTask": "joined with GPUs",
	"Switches": "with SwitchesWait", "SwitchesWait": "with Switches", "TimeLimit": "may be unlimited", "TimeMin": "may be unlimited", "Distribution": "with the size of its planes", "DelayBoot": "may be unlimited",
	"Begin": "a time", "Deadline": "a time", "Hold": "the federation's hold", "MailType": "the federation sends mail itself", "MailUser": "likewise", "Input": "made absolute", "Output": "made absolute", "Error": "made absolute",
	"Command": "with the script", "Hint": "in Layout", "SocketsPerNode": "in Layout", "CoresPerSocket": "in Layout", "ThreadsPerCore": "in Layout", "NTasksPerCore": "in Layout",
	"TRESBind": "one of two, or derived", "NoKill": "its contrary", "WaitAllNodes": "yes or no", "OOMKillStep": "yes or no", "NoCoreSpec": "no site's interface can say it but that of v0.0.38",
	"ResvPorts": "no site's interface can say it", "Priority": "for operators only, whom the site does not know", "More": "the fields below it", "Fed": "the federation's own",
	"Plugin": "in the environment", "Clusters": "the federation's own", "Digest": "the daemon's own", "SubmitLine": "the daemon's own",
}

// Each field of a Spec has its words, or stands among those by hand.
func TestEachFieldHasWords(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[sbatch.Spec](), reflect.TypeFor[sbatch.More]()} {
		for i := range typ.NumField() {
			f := typ.Field(i)
			if _, tagged := f.Tag.Lookup("slurm"); tagged == (byHand[f.Name] != "") {
				t.Errorf("%s.%s: give it a tag slurm, or a reason here", typ.Name(), f.Name)
			}
		}
	}
}

// What has words is said with them: in a submission, in a record and in the words of v0.0.38; and what is read of a submission is what was described.
func TestWordsAreSaid(t *testing.T) {
	for i, list := range [][]word{words().spec, words().more} {
		for _, w := range list {
			s := sbatch.Spec{More: new(sbatch.More)}
			v := []reflect.Value{reflect.ValueOf(&s).Elem(), reflect.ValueOf(s.More).Elem()}[i]
			name := v.Type().Field(w.field).Name
			switch f := v.Field(w.field); f.Kind() {
			case reflect.String:
				f.SetString("2")
			case reflect.Bool:
				f.SetBool(true)
			case reflect.Pointer:
				f.Set(reflect.ValueOf(new(true)))
			default:
				f.SetInt(2)
			}
			d, old := wire.JobDesc{}, map[string]any{}
			Describe(&d, &s)
			Describe38(old, &s)
			said := []bool{!reflect.ValueOf(d).IsZero(), !reflect.ValueOf(Show(wire.Job{}, s.More)).IsZero(), len(old) == 1}
			if want := []bool{w.desc >= 0 || w.flag != "", w.job >= 0, w.v38 != ""}; !slices.Equal(said, want) {
				t.Errorf("%s: said %v, want %v: %+v", name, said, want, d)
			}
			if i == 1 {
				var more sbatch.More
				if left := ReadMore(&more, &d); len(left) > 0 {
					t.Errorf("%s: %v is left", name, left)
				}
				if read := reflect.ValueOf(more).Field(w.field); (w.desc >= 0 || w.flag != "") && fmt.Sprint(read) != fmt.Sprint(v.Field(w.field)) {
					t.Errorf("%s: read as %v", name, read)
				}
			}
			if i == 1 || w.desc < 0 || w.prefix != "" {
				continue
			}
			var read sbatch.Spec
			if Read(&read, &d); fmt.Sprint(reflect.ValueOf(read).Field(w.field)) != fmt.Sprint(v.Field(w.field)) {
				t.Errorf("%s: read as %v", name, reflect.ValueOf(read).Field(w.field))
			}
		}
	}
}

// What no option says is named, and Slurm's words for no value say nothing.
func TestWhatIsLeft(t *testing.T) {
	var m sbatch.More
	d := wire.JobDesc{CPUsPerTRES: "gres/nvme:2", TRESFreq: "gpu:high", Flags: wire.Strings{"SPREAD_JOB", "TOP_PRIO_TMP"}, CoreSpec: 65534, ThreadSpec: 65535, SegmentSize: wire.Num(65534)}
	if left := ReadMore(&m, &d); !slices.Equal(left, []string{"cpus_per_tres", "flags TOP_PRIO_TMP"}) {
		t.Errorf("left %q", left)
	}
	if want := (sbatch.More{SpreadJob: true, GPUFreq: "high"}); m != want {
		t.Errorf("%+v", m)
	}
}
