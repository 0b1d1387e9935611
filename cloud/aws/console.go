package aws

import (
	"context"
	"encoding/base64"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"fsub/cloud/provider"
)

// Console is the last that a machine has written, up to 64 KiB. Only machines on the Nitro hypervisor can show what they have written since their last
// change of state; of the others, and of one that has ended, Amazon keeps what was there then.
func (p *Provider) Console(ctx context.Context, id provider.InstanceID) (string, error) {
	in := &ec2.GetConsoleOutputInput{InstanceId: sdk.String(string(id)), Latest: sdk.Bool(true)}
	out, err := p.region.ec2.GetConsoleOutput(ctx, in)
	if hasCode(err, "UnsupportedOperation", "IncorrectInstanceState", "InvalidParameterCombination") {
		in.Latest = nil
		out, err = p.region.ec2.GetConsoleOutput(ctx, in)
	}
	if err != nil {
		return "", refused(err)
	}
	raw, err := base64.StdEncoding.DecodeString(sdk.ToString(out.Output))
	return string(raw), err
}
