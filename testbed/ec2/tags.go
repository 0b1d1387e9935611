package ec2

import (
	"maps"
	"slices"
	"strings"

	"fsub/testbed/ec2/model"
)

// tagsFor returns the tag specifications of a request by resource type, which must be one of allowed.
func tagsFor(args model.Doc, allowed ...string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	for _, spec := range args.Docs("TagSpecifications") {
		kind := spec.Str("ResourceType")
		if !slices.Contains(allowed, kind) {
			return nil, refuse("InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.", kind)
		}
		if out[kind] != nil {
			return nil, refuse("InvalidParameterValue", "Multiple tag specifications for the resource type '%s'.", kind)
		}
		tags, err := readTags(spec)
		if err != nil {
			return nil, err
		}
		out[kind] = tags
	}
	return out, nil
}

// tagsOf returns the tags that a request gives to resources of one kind.
func tagsOf(args model.Doc, kind string) (map[string]string, error) {
	for _, spec := range args.Docs("TagSpecifications") {
		if spec.Str("ResourceType") == kind {
			return readTags(spec)
		}
	}
	return nil, nil
}

// readTags reads the member Tags, as Amazon bounds it.
func readTags(d model.Doc) (map[string]string, error) {
	tags := map[string]string{}
	for _, t := range d.Docs("Tags") {
		key, value := t.Str("Key"), t.Str("Value")
		switch {
		case key == "" || len(key) > 128:
			return nil, refuse("InvalidParameterValue", "Tag key exceeds the maximum length of 128 characters or is empty: '%s'", key)
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			return nil, refuse("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		case len(value) > 256:
			return nil, refuse("InvalidParameterValue", "Tag value exceeds the maximum length of 256 characters")
		}
		if _, twice := tags[key]; twice {
			return nil, refuse("InvalidParameterValue", "Duplicate tag key '%s' specified.", key)
		}
		tags[key] = value
	}
	if len(tags) > 50 {
		return nil, refuse("TagLimitExceeded", "More than 50 tags")
	}
	return tags, nil
}

func tagDocs(tags map[string]string) []model.Doc {
	var out []model.Doc
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, model.Doc{"Key": key, "Value": tags[key]})
	}
	return out
}

func clone(tags map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, tags)
	return out
}

// tagged returns the tags of the resources with these IDs, to be changed in place.
func (c *Cloud) tagged(ids []string) ([]map[string]string, error) {
	var out []map[string]string
	for _, id := range ids {
		if strings.HasPrefix(id, "i-") {
			in, err := c.named([]string{id})
			if err != nil {
				return nil, err
			}
			out = append(out, in[0].tags)
		} else if tags := c.tags[id]; tags != nil {
			out = append(out, tags)
		} else {
			return nil, refuse("InvalidID", "The ID '%s' is not valid", id)
		}
	}
	return out, nil
}

func (c *Cloud) createTags(args model.Doc) (model.Doc, error) {
	tags, err := readTags(args)
	if err != nil {
		return nil, err
	}
	resources, err := c.tagged(args.Strs("Resources"))
	if err != nil {
		return nil, err
	}
	if err := dryRun(args); err != nil {
		return nil, err
	}
	for _, r := range resources {
		maps.Copy(r, tags)
	}
	return nil, nil
}
