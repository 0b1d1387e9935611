package ec2

import (
	"maps"
	"slices"
	"time"

	"fsub/testbed/ec2/model"
)

// template is a launch template with its only version.
type template struct {
	id, name string
	data     model.Doc
	created  time.Time
}

func (c *Cloud) createLaunchTemplate(args model.Doc) (model.Doc, error) {
	if first, err := c.once("CreateLaunchTemplate", args); err != nil || first != nil {
		return again(first, args, err)
	}
	name := args.Str("LaunchTemplateName")
	if slices.ContainsFunc(c.templates, func(t *template) bool { return t.name == name }) {
		return nil, refuse("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use.")
	}
	tags, err := tagsFor(args, "launch-template")
	if err != nil {
		return nil, err
	}
	if err := dryRun(args); err != nil {
		return nil, err
	}
	t := &template{newID("lt"), name, args.Sub("LaunchTemplateData"), time.Now().UTC()}
	c.templates = append(c.templates, t)
	c.tags[t.id] = clone(tags["launch-template"])
	answer := func() (model.Doc, error) { return model.Doc{"LaunchTemplate": c.templateRow(t).doc}, nil }
	c.remember("CreateLaunchTemplate", args, answer)
	return answer()
}

func (c *Cloud) templateRow(t *template) row {
	return row{
		doc: model.Doc{"LaunchTemplateId": t.id, "LaunchTemplateName": t.name, "CreateTime": t.created, "CreatedBy": "arn:aws:iam::" + owner + ":user/fsub",
			"DefaultVersionNumber": 1, "LatestVersionNumber": 1, "Tags": tagDocs(c.tags[t.id])},
		field: map[string]string{"launch-template-name": t.name, "create-time": t.created.Format(time.RFC3339), "id": t.id},
		tags:  c.tags[t.id],
	}
}

// templateNamed finds a template by a specification with an ID or a name.
func (c *Cloud) templateNamed(spec model.Doc) (*template, error) {
	id, name, version := spec.Str("LaunchTemplateId"), spec.Str("LaunchTemplateName"), spec.Str("Version")
	for _, t := range c.templates {
		if id != "" && t.id != id || name != "" && t.name != name {
			continue
		}
		if version != "" && version != "1" && version != "$Latest" && version != "$Default" {
			return nil, refuse("InvalidLaunchTemplateId.VersionNotFound", "Could not find launch template version %s", version)
		}
		return t, nil
	}
	if id != "" {
		return nil, refuse("InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.", id)
	}
	return nil, refuse("InvalidLaunchTemplateName.NotFoundException", "The specified launch template, with template name %s, does not exist.", name)
}

func (c *Cloud) deleteLaunchTemplate(args model.Doc) (model.Doc, error) {
	t, err := c.templateNamed(args)
	if err != nil {
		return nil, err
	}
	if err := dryRun(args); err != nil {
		return nil, err
	}
	doc := c.templateRow(t).doc
	c.templates = slices.DeleteFunc(c.templates, func(other *template) bool { return other == t })
	delete(c.tags, t.id)
	return model.Doc{"LaunchTemplate": doc}, nil
}

func (c *Cloud) describeLaunchTemplates(args model.Doc) (model.Doc, error) {
	var rows []row
	for _, t := range c.templates {
		rows = append(rows, c.templateRow(t))
	}
	rows, err := choose(rows, "id", args.Strs("LaunchTemplateIds"), "InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.")
	if err == nil {
		rows, err = choose(rows, "launch-template-name", args.Strs("LaunchTemplateNames"), "InvalidLaunchTemplateName.NotFoundException",
			"The specified launch template, with template name %s, does not exist.")
	}
	if err != nil {
		return nil, err
	}
	return answerList(args, "LaunchTemplates", rows, 1, 200)
}

// withTemplate fills what a launch request leaves out from the launch template that it names.
func (c *Cloud) withTemplate(args model.Doc) (model.Doc, error) {
	spec := args.Sub("LaunchTemplate")
	if spec == nil {
		return args, nil
	}
	t, err := c.templateNamed(spec)
	if err != nil {
		return nil, err
	}
	return merge(t.data, args), nil
}

// merge lays args over base. Placement and tags are merged by part, as Amazon does; the rest is replaced.
func merge(base, args model.Doc) model.Doc {
	out := model.Doc{}
	maps.Copy(out, base)
	for key, value := range args {
		if under, over := base.Sub(key), args.Sub(key); under != nil && over != nil && key == "Placement" {
			value = merge(under, over)
		}
		out[key] = value
	}
	if args.Has("TagSpecifications") && base.Has("TagSpecifications") {
		specs := slices.Clone(args["TagSpecifications"].([]any))
		for _, s := range base.Docs("TagSpecifications") {
			if !slices.ContainsFunc(args.Docs("TagSpecifications"), func(d model.Doc) bool { return d.Str("ResourceType") == s.Str("ResourceType") }) {
				specs = append(specs, s)
			}
		}
		out["TagSpecifications"] = specs
	}
	return out
}
