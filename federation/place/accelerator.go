package place

import (
	"slices"

	"fsub/federation"
	"fsub/federation/demand"
	"fsub/sbatch"
)

// variant is one way to ask for what a job needs: with GPUs of one of the kinds that will do.
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

// Effective is what a job asks of a site where it was offered o: its own Spec, with the kind and the number of GPUs that the offer
// counts with. Whatever it asks for by the GPU is divided, so that the whole stays the same.
func Effective(spec sbatch.Spec, o *federation.Offer) sbatch.Spec {
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
