package place

import (
	"slices"

	"fsub/federation/decision"
	"fsub/federation/demand"
	"fsub/sbatch"
)

// variant is one way to ask for what a job needs, with one of the GPU types that it accepts.
type variant struct {
	as  string // of the demand's alternatives; "": as the job says
	ask *ask
}

func variants(d *demand.Demand, dropSwitches bool) []variant {
	if len(d.Alternatives) == 0 {
		return []variant{{ask: newAsk(d, dropSwitches)}}
	}
	out := make([]variant, 0, len(d.Alternatives))
	for _, a := range d.Alternatives {
		out = append(out, variant{a.As, newAsk(a.Demand, dropSwitches)})
	}
	return out
}

// Effective is what a job asks of a site that offered o: its own Spec with the offer's GPU type and count. Amounts per GPU are
// scaled, so that the total stays the same.
func Effective(spec sbatch.Spec, o *decision.Offer) sbatch.Spec {
	out := demand.Accelerated(spec, o.As)
	if len(spec.Het) == 0 || len(o.Parts) != len(spec.Het)+1 {
		return out
	}
	out = demand.Accelerated(spec, o.Parts[0].As)
	out.Het = slices.Clone(spec.Het)
	for i := range out.Het {
		out.Het[i] = demand.Accelerated(out.Het[i], o.Parts[i+1].As)
	}
	return out
}
