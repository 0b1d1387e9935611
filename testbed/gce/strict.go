package gce

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// What Google refuses although its documents' schemas let it through, with its words where they are known.

var (
	nameForm  = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	keyForm   = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
	valueForm = regexp.MustCompile(`^[a-z0-9_-]{0,63}$`)
	uuidForm  = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// Bounds that the documentation names.
const (
	mostMachines    = 1000 // of one bulkInsert
	mostDescription = 2048
	mostValue       = 256 << 10 // of one metadata entry
	mostMetadata    = 512 << 10
)

// invalid is Google's answer to a value that it does not take.
func invalid(field, value, more string) error {
	if len(value) > 100 {
		value = value[:100] + "..."
	}
	return &refusal{http.StatusBadRequest, "invalid", strings.TrimSpace(fmt.Sprintf("Invalid value for field '%s': '%s'. %s", field, value, more))}
}

// checkID holds the ID of a request to its form.
func checkID(id string) error {
	if id == "" || uuidForm.MatchString(id) && strings.Trim(id, "0-") != "" {
		return nil
	}
	return invalid("requestId", id, "Must be a valid UUID other than zero.")
}

func checkName(field, name string) error {
	if nameForm.MatchString(name) {
		return nil
	}
	return invalid(field, name, "Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'")
}

func checkLabels(field string, labels any) error {
	all, _ := labels.(map[string]any)
	if len(all) > 64 {
		return invalid(field, strconv.Itoa(len(all)), "There are more than 64 labels.")
	}
	for key, v := range all {
		value, _ := v.(string)
		if !keyForm.MatchString(key) {
			return invalid(field, "", "Label key '"+key+"' violates format constraints.")
		}
		if !valueForm.MatchString(value) {
			return invalid(field, "", "Label value '"+value+"' violates format constraints.")
		}
	}
	return nil
}

func checkDescription(field, text string) error {
	if len(text) > mostDescription {
		return invalid(field, text, "Must be at most "+strconv.Itoa(mostDescription)+" characters long.")
	}
	return nil
}

func checkMetadata(field string, metadata any) error {
	all, _ := metadata.(map[string]any)
	items, _ := all["items"].([]any)
	sum := 0
	for _, i := range items {
		key, value := str(i.(doc), "key"), str(i.(doc), "value")
		if sum += len(key) + len(value); len(value) > mostValue || sum > mostMetadata {
			return invalid(field, key, "Metadata is too large.")
		}
	}
	return nil
}

// checkPolicies wants names: here Google takes no URLs, as it does everywhere else.
func (c *Cloud) checkPolicies(field string, policies []string) error {
	for _, p := range policies {
		if !nameForm.MatchString(p) {
			return invalid(field, p, "Must be the name of a resource policy.")
		}
		if c.policies[p] == nil {
			return &refusal{http.StatusNotFound, "notFound", "The resource 'projects/" + c.cfg.Project + "/regions/" + c.cfg.Region + "/resourcePolicies/" + p + "' was not found"}
		}
	}
	return nil
}

func checkScheduling(field string, props doc) error {
	model, seconds := str(props, "scheduling", "provisioningModel"), str(props, "scheduling", "maxRunDuration", "seconds")
	s, _ := props["scheduling"].(map[string]any)
	restart, said := s["automaticRestart"].(bool)
	n, _ := strconv.Atoi(seconds)
	action := str(props, "scheduling", "instanceTerminationAction")
	switch {
	case model == "FLEX_START" && (n < 600 || n > 7*24*3600):
		return invalid(field+".maxRunDuration", seconds, "FLEX_START wants from 10 minutes to 7 days.")
	case seconds != "" && (n < 30 || n > 120*24*3600):
		return invalid(field+".maxRunDuration", seconds, "Must be from 30 seconds to 120 days.")
	case (model == "SPOT" || model == "FLEX_START") && (!said || restart):
		return invalid(field+".automaticRestart", "true", "Must be false for "+model+".")
	case (model == "SPOT" || seconds != "") && action == "":
		return invalid(field+".instanceTerminationAction", "", "")
	}
	return nil
}

// checkNetworks wants networks that are there, and each at most once.
func (c *Cloud) checkNetworks(field string, nets []any) error {
	var seen []string
	for i, n := range nets {
		network, subnet := base(str(n.(doc), "network")), base(str(n.(doc), "subnetwork"))
		if subnet != "" {
			found := c.fixed["subnetworks.get/"+subnet]
			if found == nil {
				return invalid(fmt.Sprintf("%s[%d].subnetwork", field, i), subnet, "The referenced subnetwork resource cannot be found.")
			}
			network = base(str(found, "network"))
		}
		if network == "" {
			network = "default"
		}
		if c.fixed["networks.get/"+network] == nil {
			return invalid(fmt.Sprintf("%s[%d].network", field, i), network, "The referenced network resource cannot be found.")
		}
		if slices.Contains(seen, network) {
			return invalid(field, network, "Networks must be distinct for NICs attached to a VM.")
		}
		seen = append(seen, network)
	}
	return nil
}

// checkImages wants images that are there.
func (c *Cloud) checkImages(field string, disks []any) error {
	for i, d := range disks {
		image := str(d.(doc), "initializeParams", "sourceImage")
		parts := strings.Split(strings.TrimPrefix(image, "https://www.googleapis.com/compute/v1/"), "/")
		at := fmt.Sprintf("%s[%d].initializeParams.sourceImage", field, i)
		if len(parts) < 5 || parts[0] != "projects" || !c.hasImage(parts[1], parts[len(parts)-1]) {
			return invalid(at, image, "The referenced image resource cannot be found.")
		}
	}
	return nil
}

// hasImage: the projects that have images have any, but for those whose names end with -gone.
func (c *Cloud) hasImage(project, name string) bool {
	return slices.Contains([]string{"debian-cloud", "ubuntu-os-accelerator-images", c.cfg.Project}, project) && !strings.HasSuffix(name, "-gone")
}
