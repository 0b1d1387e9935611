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
	"RunInstances":                        (*Cloud).runInstances,
	"TerminateInstances":                  (*Cloud).terminateInstances,
	"DescribeInstances":                   (*Cloud).describeInstances,
	"DescribeInstanceStatus":              (*Cloud).describeInstanceStatus,
	"DescribeInstanceAttribute":           (*Cloud).describeInstanceAttribute,
	"GetConsoleOutput":                    (*Cloud).getConsoleOutput,
	"CreateTags":                          (*Cloud).createTags,
	"DeleteTags":                          (*Cloud).deleteTags,
	"DescribeTags":                        (*Cloud).describeTags,
	"DescribeInstanceTypes":               (*Cloud).describeInstanceTypes,
	"DescribeInstanceTypeOfferings":       (*Cloud).describeInstanceTypeOfferings,
	"DescribeSpotPriceHistory":            (*Cloud).describeSpotPriceHistory,
	"DescribeSpotInstanceRequests":        (*Cloud).describeSpotInstanceRequests,
	"GetSpotPlacementScores":              (*Cloud).getSpotPlacementScores,
	"DescribeRegions":                     (*Cloud).describeRegions,
	"DescribeAvailabilityZones":           (*Cloud).describeAvailabilityZones,
	"DescribeSubnets":                     (*Cloud).describeSubnets,
	"DescribeVpcs":                        (*Cloud).describeVpcs,
	"DescribeSecurityGroups":              (*Cloud).describeSecurityGroups,
	"DescribeImages":                      (*Cloud).describeImages,
	"CreatePlacementGroup":                (*Cloud).createPlacementGroup,
	"DescribePlacementGroups":             (*Cloud).describePlacementGroups,
	"DeletePlacementGroup":                (*Cloud).deletePlacementGroup,
	"DescribeInstanceTopology":            (*Cloud).describeInstanceTopology,
	"CreateCapacityReservation":           (*Cloud).createCapacityReservation,
	"DescribeCapacityReservations":        (*Cloud).describeCapacityReservations,
	"CancelCapacityReservation":           (*Cloud).cancelCapacityReservation,
	"DescribeCapacityReservationTopology": (*Cloud).describeCapacityReservationTopology,
	"DescribeCapacityBlockOfferings":      (*Cloud).describeCapacityBlockOfferings,
	"PurchaseCapacityBlock":               (*Cloud).purchaseCapacityBlock,
	"DescribeCapacityBlocks":              (*Cloud).describeCapacityBlocks,
	"CreateLaunchTemplate":                (*Cloud).createLaunchTemplate,
	"DeleteLaunchTemplate":                (*Cloud).deleteLaunchTemplate,
	"DescribeLaunchTemplates":             (*Cloud).describeLaunchTemplates,
	"CreateFleet":                         (*Cloud).createFleet,
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
