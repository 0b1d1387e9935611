package contract

import (
	"fmt"
	"regexp"
	"strings"
)

// exception is a field whose value differs from one job to the next also if sbatch submits both. It must be there, and of the same form.
type exception struct {
	form func(string) string
	why  string
}

var exceptions = map[string]exception{
	"SLURM_JOB_START_TIME":     {anyNumber, "a second apart"},
	"SLURM_JOB_END_TIME":       {anyNumber, "a second apart"},
	"SLURM_TASK_PID":           {anyNumber, "a process of its own"},
	"SLURM_SRUN_COMM_PORT":     {anyNumber, "a port of its own"},
	"SLURM_STEP_LAUNCHER_PORT": {anyNumber, "a port of its own"},
	"SLURM_JOB_SLUID":          {anyWord, "another name of the job, 26.05"},
	"SLURM_SUBMIT_HOST":        {anyWord, "the host where the command was called"},
	"SLURM_JOB_GPUS":           {anyDevice, "as GPUs fall free"},
	"SLURM_STEP_GPUS":          {anyDevice, "as GPUs fall free"},
	"CUDA_VISIBLE_DEVICES":     {anyDevice, "as GPUs fall free"},
	"GPU_DEVICE_ORDINAL":       {anyDevice, "as GPUs fall free"},
	"ROCR_VISIBLE_DEVICES":     {anyDevice, "as GPUs fall free"},
	"ZE_AFFINITY_MASK":         {anyDevice, "as GPUs fall free"},
	"stderr":                   {withoutMail, "the federation sends mail, and says when it cannot"},
}

// ours are variables that only our jobs have, with the reason.
var ours = map[string]string{
	"FSUB_JOB_ID":       "the federated number at a site that gives numbers of its own, for commands in the job",
	"FSUB_ARRAY_JOB_ID": "the same of an array",
}

// onDelta are variables that only one of the two has at 22.05, with the reason.
var onDelta = map[string]string{
	"SLURM_TRES_PER_TASK": "sbatch of 22.05 sets none; with ours, which does as 24.11, goes the caller's too",
	"SLURM_JOB_NAME":      "with --export-file sbatch loses it; slurmrestd of 22.05 sets it for itself",
	"SLURM_OPEN_MODE":     "the same",
}

var (
	number    = regexp.MustCompile(`\d+`)
	aNode     = regexp.MustCompile(`(alpha|gamma|delta|leaf)\d+`)
	someNodes = regexp.MustCompile(`(alpha|gamma|delta)\[[^]]*\]`)
)

func anyNumber(s string) string { return number.ReplaceAllString(s, "#") }

func anyWord(s string) string {
	if s == "" {
		return ""
	}
	return "a word"
}

// anyNode leaves of nodes that they are some: as they fall free.
func anyNode(s string) string {
	return aNode.ReplaceAllString(someNodes.ReplaceAllString(s, "$1[#]"), "$1#")
}

func anyDevice(s string) string { return fmt.Sprint(len(strings.Split(s, ",")), " devices") }

// withoutMail is what was said, without the sentence that no mail will come.
func withoutMail(said string) string {
	if i := strings.Index(said, "sbatch: no mail will come: "); i >= 0 {
		_, rest, _ := strings.Cut(said[i:], "\n")
		return said[:i] + rest
	}
	return said
}
