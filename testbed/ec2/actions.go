package ec2

import (
	"maps"
	"slices"

	"fsub/testbed/ec2/model"
)

// action does one call. The lock is held. The error is an *apiError.
type action func(*Cloud, model.Doc) (model.Doc, error)

// actions is all that the stand-in can do.
var actions = map[string]action{
	"RunInstances":                  (*Cloud).runInstances,
	"TerminateInstances":            (*Cloud).terminateInstances,
	"DescribeInstances":             (*Cloud).describeInstances,
	"CreateTags":                    (*Cloud).createTags,
	"DescribeInstanceTypes":         (*Cloud).describeInstanceTypes,
	"DescribeInstanceTypeOfferings": (*Cloud).describeInstanceTypeOfferings,
	"DescribeSpotPriceHistory":      (*Cloud).describeSpotPriceHistory,
	"DescribeSubnets":               (*Cloud).describeSubnets,
	"DescribeRouteTables":           (*Cloud).describeRouteTables,
	"GetConsoleOutput":              (*Cloud).getConsoleOutput,
	"DescribeSecurityGroups":        (*Cloud).describeSecurityGroups,
	"DescribeImages":                (*Cloud).describeImages,
	"CreatePlacementGroup":          (*Cloud).createPlacementGroup,
	"DescribePlacementGroups":       (*Cloud).describePlacementGroups,
	"DeletePlacementGroup":          (*Cloud).deletePlacementGroup,
	"DescribeInstanceTopology":      (*Cloud).describeInstanceTopology,
	"DescribeCapacityReservations":  (*Cloud).describeCapacityReservations,
	"CreateLaunchTemplate":          (*Cloud).createLaunchTemplate,
	"DeleteLaunchTemplate":          (*Cloud).deleteLaunchTemplate,
	"DescribeLaunchTemplates":       (*Cloud).describeLaunchTemplates,
	"CreateFleet":                   (*Cloud).createFleet,
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
