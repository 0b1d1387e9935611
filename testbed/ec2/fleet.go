package ec2

import (
	"cmp"
	"slices"

	"fsub/testbed/ec2/model"
	"fsub/testbed/machines"
)

// choice is one override of a fleet: a launch that it may make.
type choice struct {
	args     model.Doc // of RunInstances, without counts
	shown    model.Doc // as the answer shows it
	typ      string
	zone     string
	price    float64
	priority float64
}

// createFleet makes an instant fleet: what can be had is launched within the call, and the refusals are listed, with status 200.
func (c *Cloud) createFleet(args model.Doc) (model.Doc, error) {
	if args.Str("Type") != "instant" {
		return nil, refuse("UnsupportedOperation", "The stand-in knows no fleets but instant ones")
	}
	if first, err := c.once("CreateFleet", args); err != nil || first != nil {
		return again(first, args, err)
	}
	target := args.Sub("TargetCapacitySpecification")
	market := target.Str("DefaultTargetCapacityType")
	if market == "" || target.Int("OnDemandTargetCapacity") > 0 && target.Int("SpotTargetCapacity") > 0 {
		return nil, refuse("InvalidParameterCombination", "The stand-in's fleets have one market, which DefaultTargetCapacityType says")
	}
	options := args.Sub("OnDemandOptions")
	if market == spot {
		options = args.Sub("SpotOptions")
	}
	if n := options.Int("MinTargetCapacity"); n > target.Int("TotalTargetCapacity") {
		return nil, refuse("InvalidParameterValue", "MinTargetCapacity must not exceed the target capacity")
	} else if n > 0 && !options.Bool("SingleInstanceType") && !options.Bool("SingleAvailabilityZone") {
		return nil, refuse("InvalidParameterCombination", "MinTargetCapacity requires SingleInstanceType or SingleAvailabilityZone")
	}
	if _, err := tagsFor(args, "fleet", "instance", "volume", "network-interface", "spot-instances-request"); err != nil {
		return nil, err
	}
	choices, err := c.choices(args, market)
	if err != nil {
		return nil, err
	}
	if err := dryRun(args); err != nil {
		return nil, err
	}
	answer := c.fill(choices, options, target.Int("TotalTargetCapacity"), market)
	answer["FleetId"] = "fleet-" + machines.UUID()
	c.remember("CreateFleet", args, func() (model.Doc, error) { return answer, nil })
	return answer, nil
}

// choices lists the launches that a fleet may make, in the order in which its allocation strategy tries them.
func (c *Cloud) choices(args model.Doc, market string) ([]*choice, error) {
	var out []*choice
	for _, config := range args.Docs("LaunchTemplateConfigs") {
		t, err := c.templateNamed(config.Sub("LaunchTemplateSpecification"))
		if err != nil {
			return nil, err
		}
		overrides := config.Docs("Overrides")
		if len(overrides) == 0 {
			overrides = []model.Doc{{}}
		}
		for _, o := range overrides {
			ch := &choice{args: merge(t.data, c.overridden(o, market)), shown: o, priority: 1e9}
			if p, ok := o["Priority"].(float64); ok {
				ch.priority = p
			}
			if tags := args["TagSpecifications"]; tags != nil {
				ch.args = merge(ch.args, model.Doc{"TagSpecifications": keepTags(tags.([]any))})
			}
			ch.shown = model.Doc{"LaunchTemplateSpecification": model.Doc{"LaunchTemplateId": t.id, "Version": "1"}, "Overrides": shownOverride(o)}
			ch.typ = ch.args.Str("InstanceType")
			out = append(out, ch)
		}
	}
	for _, ch := range out {
		c.locate(ch, market)
	}
	strategy := args.Sub("OnDemandOptions").Str("AllocationStrategy")
	if market == spot {
		strategy = args.Sub("SpotOptions").Str("AllocationStrategy")
	}
	slices.SortStableFunc(out, func(a, b *choice) int {
		if strategy == "prioritized" || strategy == "capacity-optimized-prioritized" {
			return cmp.Compare(a.priority, b.priority)
		}
		return cmp.Compare(a.price, b.price)
	})
	return out, nil
}

// overridden is an override as arguments of RunInstances.
func (c *Cloud) overridden(o model.Doc, market string) model.Doc {
	out := model.Doc{}
	for _, key := range []string{"InstanceType", "SubnetId", "ImageId"} {
		if o.Has(key) {
			out[key] = o[key]
		}
	}
	placement := model.Doc{}
	if o.Sub("Placement") != nil {
		placement = merge(o.Sub("Placement"), model.Doc{})
	}
	if o.Has("AvailabilityZone") {
		placement["AvailabilityZone"] = o["AvailabilityZone"]
	}
	if len(placement) > 0 {
		out["Placement"] = placement
	}
	if market == spot {
		options := model.Doc{}
		if o.Has("MaxPrice") {
			options["MaxPrice"] = o["MaxPrice"]
		}
		out["InstanceMarketOptions"] = model.Doc{"MarketType": spot, "SpotOptions": options}
	}
	return out
}

// shownOverride keeps of an override what the answer's model has.
func shownOverride(o model.Doc) model.Doc {
	out := model.Doc{}
	for _, key := range []string{"InstanceType", "SubnetId", "AvailabilityZone", "MaxPrice", "Priority", "ImageId"} {
		if o.Has(key) {
			out[key] = o[key]
		}
	}
	return out
}

// keepTags leaves out the fleet's own tags.
func keepTags(specs []any) []any {
	return slices.DeleteFunc(slices.Clone(specs), func(s any) bool { return s.(model.Doc).Str("ResourceType") == "fleet" })
}

// locate finds the zone and the price of a choice, as far as it says.
func (c *Cloud) locate(ch *choice, market string) {
	l := &launch{args: ch.args, typ: c.types[ch.typ]}
	if l.typ == nil || c.planNetwork(l) != nil {
		return
	}
	ch.zone, ch.price = l.zone, l.typ.Price
	if market == spot && l.zone != "" {
		ch.price = l.typ.spotPrice(l.zone)
	}
}

// fill launches up to want instances from the choices, or none if fewer than MinTargetCapacity can be had.
func (c *Cloud) fill(choices []*choice, options model.Doc, want int, market string) model.Doc {
	var made [][]*instance
	var from []*choice
	var errors []model.Doc
	got := 0
	for len(choices) > 0 {
		tried := sameAs(choices, options)
		choices = slices.DeleteFunc(choices, func(ch *choice) bool { return slices.Contains(tried, ch) })
		for _, ch := range tried {
			if got == want {
				break
			}
			in, err := c.try(ch, want-got)
			if err != nil {
				errors = append(errors, model.Doc{"LaunchTemplateAndOverrides": ch.shown, "Lifecycle": market, "ErrorCode": codeOf(err), "ErrorMessage": textOfError(err)})
				continue
			}
			made, from, got = append(made, in), append(from, ch), got+len(in)
		}
		single := options.Bool("SingleInstanceType") || options.Bool("SingleAvailabilityZone")
		if got == want || single && got > 0 && got >= options.Int("MinTargetCapacity") {
			break
		}
		if single || len(choices) == 0 && got < options.Int("MinTargetCapacity") { // all or nothing: take back
			for _, in := range slices.Concat(made...) {
				c.forget(in)
			}
			if got > 0 {
				errors = append(errors, model.Doc{"LaunchTemplateAndOverrides": from[0].shown, "Lifecycle": market, "ErrorCode": "InsufficientInstanceCapacity",
					"ErrorMessage": "There is no capacity available that matches your request for the minimum target capacity."})
			}
			made, from, got = nil, nil, 0
		}
	}
	return c.filled(made, from, errors, market)
}

func (c *Cloud) filled(made [][]*instance, from []*choice, errors []model.Doc, market string) model.Doc {
	answer := model.Doc{"Errors": errors, "Instances": []model.Doc{}}
	for i, in := range made {
		c.begins(in)
		var ids []string
		for _, one := range in {
			ids = append(ids, one.id)
		}
		answer["Instances"] = append(answer["Instances"].([]model.Doc), model.Doc{"InstanceIds": ids, "InstanceType": from[i].typ, "Lifecycle": market,
			"LaunchTemplateAndOverrides": from[i].shown})
	}
	return answer
}

// sameAs returns the choices that may be combined with the first: all, or those of one type, one zone.
func sameAs(choices []*choice, options model.Doc) []*choice {
	first := choices[0]
	var out []*choice
	for _, ch := range choices {
		if (!options.Bool("SingleInstanceType") || ch.typ == first.typ) && (!options.Bool("SingleAvailabilityZone") || ch.zone == first.zone) {
			out = append(out, ch)
		}
	}
	return out
}

// try makes up to n instances of a choice, which do not begin yet.
func (c *Cloud) try(ch *choice, n int) ([]*instance, error) {
	l, err := c.plan(merge(ch.args, model.Doc{"MinCount": 1, "MaxCount": n}))
	if err != nil {
		return nil, err
	}
	return c.make(l), nil
}

func textOfError(err error) string {
	if e, ok := err.(*apiError); ok {
		return e.Text
	}
	return err.Error()
}
