package federation

import (
	"path"
	"strings"

	"fsub/sbatch"
)

// Sees reports whether a directory of the submit host is there at the site too, with the same content.
func (s *Site) Sees(dir string) bool {
	if s.FileSystems == nil {
		return true
	}
	dir = path.Clean(dir)
	for _, prefix := range s.FileSystems {
		if rest, ok := strings.CutPrefix(dir, strings.TrimSuffix(prefix, "/")); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// Reaches reports whether a job can run at the site as far as its files go: its working directory is there, or its files are copied.
func (s *Site) Reaches(spec *sbatch.Spec) bool {
	staged := spec.Fed != nil && len(spec.Fed.StageIn)+len(spec.Fed.StageOut)+len(spec.Fed.Keep) > 0
	return staged || s.Sees(spec.WorkDir)
}

// PluginOption is an option of sbatch that a plugin of a site provides, --container-image of pyxis for one.
type PluginOption struct {
	Name   string    // long, without dashes
	Short  string    // one letter, or ""
	Value  TakesWhat // whether it takes a value
	Plugin string    // the plugin's own name: the site tells options of two plugins apart by it
}

// TakesWhat says whether an option takes a value.
type TakesWhat string

const (
	TakesValue   TakesWhat = "required"
	MayTakeValue TakesWhat = "optional"
	TakesNoValue TakesWhat = "none"
)

// Option returns the site's plugin option of a name, nil if it has none.
func (s *Site) Option(name string) *PluginOption {
	for i := range s.Options {
		if s.Options[i].Name == name {
			return &s.Options[i]
		}
	}
	return nil
}
