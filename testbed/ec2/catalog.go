package ec2

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/testbed/ec2/model"
)

func (c *Cloud) describeInstanceTypes(args model.Doc) (model.Doc, error) {
	var rows []row
	for _, t := range c.cfg.Types {
		rows = append(rows, row{doc: typeDoc(t), field: map[string]string{
			"instance-type": t.Name, "processor-info.supported-architecture": t.Arch, "vcpu-info.default-vcpus": itoa(t.CPUs), "memory-info.size-in-mib": itoa(t.MemMiB),
			"supported-usage-class": many(t.Usage), "network-info.efa-supported": fmt.Sprint(t.EFA > 0), "current-generation": "true", "bare-metal": "false",
			"placement-group-info.supported-strategies": many(t.Strategies),
		}})
	}
	if wanted := args.Strs("InstanceTypes"); len(wanted) > 0 {
		if args.Has("MaxResults") {
			return nil, refuse("InvalidParameterCombination", "The parameter InstanceTypes cannot be used with the parameter MaxResults")
		}
		for _, w := range wanted {
			if c.types[w] == nil {
				return nil, refuse("InvalidInstanceType", "The following supplied instance types do not exist: [%s]", w)
			}
		}
		rows = slices.DeleteFunc(rows, func(r row) bool { return !slices.Contains(wanted, r.field["instance-type"]) })
	}
	return answerList(args, "InstanceTypes", rows, 5, 100)
}

func typeDoc(t *Type) model.Doc {
	d := model.Doc{
		"InstanceType": t.Name, "CurrentGeneration": true, "BareMetal": false, "Hypervisor": "nitro", "SupportedUsageClasses": t.Usage,
		"SupportedVirtualizationTypes": []string{"hvm"}, "SupportedRootDeviceTypes": []string{"ebs"},
		"ProcessorInfo":      model.Doc{"SupportedArchitectures": []string{t.Arch}, "SustainedClockSpeedInGhz": 3.1},
		"VCpuInfo":           model.Doc{"DefaultVCpus": t.CPUs, "DefaultCores": max(1, t.CPUs/2), "DefaultThreadsPerCore": 2},
		"MemoryInfo":         model.Doc{"SizeInMiB": t.MemMiB},
		"PlacementGroupInfo": model.Doc{"SupportedStrategies": t.Strategies},
		"NetworkInfo": model.Doc{"EfaSupported": t.EFA > 0, "EnaSupport": "required", "MaximumNetworkCards": max(1, t.Cards), "MaximumNetworkInterfaces": 4 * max(1, t.Cards),
			"NetworkPerformance": t.Network, "Ipv6Supported": true, "DefaultNetworkCardIndex": 0},
	}
	if t.EFA > 0 {
		d["NetworkInfo"].(model.Doc)["EfaInfo"] = model.Doc{"MaximumEfaInterfaces": t.EFA}
	}
	device := model.Doc{"Name": t.Accelerator, "Count": t.Accelerators, "MemoryInfo": model.Doc{"SizeInMiB": t.AcceleratorMiB}}
	switch t.Maker {
	case "":
	case "Qualcomm":
		d["InferenceAcceleratorInfo"] = model.Doc{"Accelerators": []model.Doc{{"Name": t.Accelerator, "Count": t.Accelerators, "Manufacturer": t.Maker}}}
	case "AWS":
		if strings.HasPrefix(t.Name, "inf") {
			d["InferenceAcceleratorInfo"] = model.Doc{"Accelerators": []model.Doc{{"Name": t.Accelerator, "Count": t.Accelerators, "Manufacturer": t.Maker}}}
		}
		d["NeuronInfo"] = model.Doc{"NeuronDevices": []model.Doc{device}, "TotalNeuronDeviceMemoryInMiB": t.Accelerators * t.AcceleratorMiB}
	default:
		device["Manufacturer"] = t.Maker
		d["GpuInfo"] = model.Doc{"Gpus": []model.Doc{device}, "TotalGpuMemoryInMiB": t.Accelerators * t.AcceleratorMiB}
	}
	return d
}

func (c *Cloud) describeInstanceTypeOfferings(args model.Doc) (model.Doc, error) {
	kind := args.Str("LocationType")
	str(&kind, "region")
	var rows []row
	for _, t := range c.cfg.Types {
		for _, zone := range c.cfg.Zones {
			location := map[string]string{"region": c.cfg.Region, "availability-zone": zone, "availability-zone-id": c.zoneID(zone)}[kind]
			if location == "" || !t.offered(zone) || kind == "region" && len(rows) > 0 && rows[len(rows)-1].field["instance-type"] == t.Name {
				continue
			}
			rows = append(rows, row{doc: model.Doc{"InstanceType": t.Name, "LocationType": kind, "Location": location},
				field: map[string]string{"instance-type": t.Name, "location": location}})
		}
	}
	return answerList(args, "InstanceTypeOfferings", rows, 5, 1000)
}

// describeSpotPriceHistory shows the price of now, and the one of the day before where a start time before now asks for a history.
func (c *Cloud) describeSpotPriceHistory(args model.Doc) (model.Doc, error) {
	now := time.Now().UTC().Truncate(time.Hour)
	ages := []time.Duration{0}
	if start := args.Time("StartTime"); start.IsZero() || start.Before(now.Add(-24*time.Hour)) {
		ages = append(ages, 24*time.Hour)
	}
	var rows []row
	for _, age := range ages {
		for _, t := range c.cfg.Types {
			rows = append(rows, c.spotRows(args, t, now.Add(-age), 1+age.Hours()/240)...)
		}
	}
	return answerList(args, "SpotPriceHistory", rows, 1, 1000)
}

func (c *Cloud) spotRows(args model.Doc, t *Type, at time.Time, factor float64) []row {
	if !slices.Contains(t.Usage, spot) || t.Price == 0 || len(args.Strs("InstanceTypes")) > 0 && !slices.Contains(args.Strs("InstanceTypes"), t.Name) {
		return nil
	}
	var rows []row
	for _, zone := range c.cfg.Zones {
		if !t.offered(zone) || args.Has("AvailabilityZone") && args.Str("AvailabilityZone") != zone {
			continue
		}
		for _, product := range []string{"Linux/UNIX", "Windows"} {
			price := t.spotPrice(zone) * factor
			if product == "Windows" {
				price *= 2
			}
			text := fmt.Sprintf("%.6f", price)
			if p := args.Strs("ProductDescriptions"); len(p) > 0 && !slices.Contains(p, product) && !slices.Contains(p, product+" (Amazon VPC)") {
				continue
			}
			rows = append(rows, row{
				doc:   model.Doc{"AvailabilityZone": zone, "AvailabilityZoneId": c.zoneID(zone), "InstanceType": t.Name, "ProductDescription": product, "SpotPrice": text, "Timestamp": at},
				field: map[string]string{"availability-zone": zone, "instance-type": t.Name, "product-description": product, "spot-price": text, "timestamp": at.Format(time.RFC3339)},
			})
		}
	}
	return rows
}

func (c *Cloud) describeImages(args model.Doc) (model.Doc, error) {
	var rows []row
	for _, i := range c.cfg.Images {
		created := "2026-11-01T00:00:00.000Z"
		rows = append(rows, row{
			doc: model.Doc{"ImageId": i.ID, "Name": i.Name, "Architecture": i.Arch, "State": "available", "OwnerId": "137112412989", "Public": true, "ImageType": "machine",
				"RootDeviceName": "/dev/xvda", "RootDeviceType": "ebs", "VirtualizationType": "hvm", "CreationDate": created, "ImageOwnerAlias": "amazon"},
			field: map[string]string{"image-id": i.ID, "name": i.Name, "architecture": i.Arch, "state": "available", "owner-alias": "amazon", "creation-date": created,
				"virtualization-type": "hvm", "root-device-type": "ebs", "image-type": "machine", "is-public": "true"},
		})
	}
	if o := args.Strs("Owners"); len(o) > 0 && !slices.Contains(o, "amazon") && !slices.Contains(o, "137112412989") {
		rows = nil
	}
	rows, err := choose(rows, "image-id", args.Strs("ImageIds"), "InvalidAMIID.NotFound", "The image id '[%s]' does not exist")
	if err != nil {
		return nil, err
	}
	return answerList(args, "Images", rows, 1, 1000)
}
