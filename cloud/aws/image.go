package aws

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/cloud/provider"
)

// image is what machines boot.
type image struct {
	id   string // "ami-...", or "resolve:ssm:..." that EC2 itself resolves
	root string // name of the root volume; "" where it is not known
	gib  int    // of the root volume; 0: as the image has it
}

// imageSpec is one value of Config.Images, read.
type imageSpec struct {
	id          string
	owner, name string
}

func parseImage(s string) (imageSpec, error) {
	switch owner, name, slash := strings.Cut(s, "/"); {
	case strings.HasPrefix(s, "ami-"), strings.HasPrefix(s, "resolve:ssm:") && len(s) > len("resolve:ssm:"):
		return imageSpec{id: s}, nil
	case slash && owner != "" && name != "" && !strings.Contains(owner, ":"):
		return imageSpec{owner: owner, name: name}, nil
	}
	return imageSpec{}, fmt.Errorf(`aws: image %q: give "ami-...", "resolve:ssm:/PARAMETER" or "OWNER/NAME" (owner self, amazon or an account's number)`, s)
}

// imageFor returns what a type's machines boot.
func (r *regional) imageFor(ctx context.Context, p *Provider, typ, arch string, gpu bool) (image, error) {
	text := p.cfg.imageText(typ, arch, gpu)
	spec, err := parseImage(text)
	if err != nil {
		return image{}, err
	}
	if text == defaultImages[arch] || text == defaultImages[arch+"/gpu"] {
		return image{spec.id, cmp.Or(p.cfg.RootDevice, defaultRoot), cmp.Or(p.cfg.VolumeGiB, defaultVolumeGiB)}, nil
	}
	found, err := r.namedImage(ctx, p, spec, arch)
	found.gib = p.cfg.VolumeGiB
	return found, err
}

// namedImage returns an image that the configuration names.
func (r *regional) namedImage(ctx context.Context, p *Provider, spec imageSpec, arch string) (image, error) {
	if strings.HasPrefix(spec.id, "resolve:") || spec.id != "" && p.cfg.VolumeGiB == 0 {
		return image{id: spec.id, root: p.cfg.RootDevice}, nil
	}
	m := &r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	key := fmt.Sprint(spec, arch)
	if found, ok := m.images[key]; ok {
		return found, nil
	}
	found, err := r.findImage(ctx, spec, arch)
	if err == nil && m.images != nil {
		m.images[key] = found
	}
	return found, err
}

// imageText picks the most particular of the images that are configured. A type with GPUs takes the
// plain one of its architecture before a default.
func (c *Config) imageText(typ, arch string, gpu bool) string {
	key := arch
	if gpu {
		key += "/gpu"
	}
	own, _ := provider.Choose(c.Images, typ)
	return cmp.Or(own, c.Images[key], c.Images[arch], defaultImages[key])
}

// undriven says why machines of a type would find no GPU with the image that they boot; "": they find theirs.
func (c *Config) undriven(typ, arch string) string {
	if c.imageText(typ, arch, true) != defaultImages[arch+"/gpu"] {
		return ""
	}
	return provider.Undriven(driverless, typ)
}

func (r *regional) findImage(ctx context.Context, spec imageSpec, arch string) (image, error) {
	in := &ec2.DescribeImagesInput{Filters: []filter{{Name: sdk.String("architecture"), Values: []string{arch}}}}
	if spec.id != "" {
		in.ImageIds = []string{spec.id}
	} else {
		in.Owners = []string{spec.owner}
		in.Filters = append(in.Filters, filter{Name: sdk.String("name"), Values: []string{spec.name}}, filter{Name: sdk.String("state"), Values: []string{"available"}})
	}
	var all []types.Image
	for pages := ec2.NewDescribeImagesPaginator(r.ec2, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return image{}, refused(err)
		}
		all = append(all, page.Images...)
	}
	if len(all) == 0 {
		return image{}, invalid("region %s has no image %s for %s", r.Name, cmp.Or(spec.id, spec.owner+"/"+spec.name), arch)
	}
	// The date is written in ISO 8601: the newest is the greatest. The ID settles a tie.
	newest := slices.MaxFunc(all, func(a, b types.Image) int {
		return cmp.Or(cmp.Compare(sdk.ToString(a.CreationDate), sdk.ToString(b.CreationDate)), cmp.Compare(sdk.ToString(a.ImageId), sdk.ToString(b.ImageId)))
	})
	return image{id: sdk.ToString(newest.ImageId), root: sdk.ToString(newest.RootDeviceName)}, nil
}
