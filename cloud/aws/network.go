package aws

import (
	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// network attaches the machines: plainly, or with all their EFA interfaces.
func network(in *ec2.RunInstancesInput, reg *regional, l *launch) {
	if !l.efa() {
		in.SecurityGroupIds = reg.SecurityGroups
		in.SubnetId = l.subnet()
		return
	}
	for _, card := range efaCards(&l.info) {
		in.NetworkInterfaces = append(in.NetworkInterfaces, types.InstanceNetworkInterfaceSpecification{
			NetworkCardIndex: sdk.Int32(card.index), DeviceIndex: sdk.Int32(card.device), InterfaceType: sdk.String(card.kind),
			Groups: reg.SecurityGroups, SubnetId: l.subnet(), DeleteOnTermination: sdk.Bool(true),
		})
	}
}

// subnet is where the machines go; nil in a fleet's template, since the fleet decides.
func (l *launch) subnet() *string {
	if l.fleet() {
		return nil
	}
	return sdk.String(l.zones[0].id)
}

type card struct {
	index, device int32
	kind          string
}

// efaCards are the interfaces that a type gets: the first card carries IP, with EFA where it can,
// and the others EFA alone. A type with more cards than EFA interfaces (p6-b300: 17 and 16) has a
// first one without.
func efaCards(info *types.InstanceTypeInfo) []card {
	efas, cards := efaInterfaces(info), int(sdk.ToInt32(info.NetworkInfo.MaximumNetworkCards))
	first := card{kind: "efa"}
	if cards > efas {
		first.kind = "interface"
	} else {
		efas--
	}
	all := []card{first}
	for i := 1; i < cards && efas > 0; i, efas = i+1, efas-1 {
		all = append(all, card{int32(i), 1, "efa-only"})
	}
	return all
}

// efaInterfaces returns how many EFA interfaces a type can have.
func efaInterfaces(info *types.InstanceTypeInfo) int {
	if info.NetworkInfo == nil || !sdk.ToBool(info.NetworkInfo.EfaSupported) || info.NetworkInfo.EfaInfo == nil {
		return 0
	}
	return int(sdk.ToInt32(info.NetworkInfo.EfaInfo.MaximumEfaInterfaces))
}
