package sbatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"fsub/sbatch/bounded"
)

// MaxComponents is how many components a heterogeneous job may have, as in slurmctld 24.11.
const MaxComponents = 128

// Components are those of a heterogeneous job after the first. They have no components themselves.
type Components []Spec

// UnmarshalJSON implements [json.Unmarshaler]. It counts before it reads, and reads no components of components.
func (c *Components) UnmarshalJSON(text []byte) error {
	n := bounded.Count(text)
	if n >= MaxComponents {
		return fmt.Errorf("%d components, at most %d are allowed", n+1, MaxComponents)
	}
	*c = nil
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); t != json.Delim('[') || err != nil {
		return err // null
	}
	list := make(Components, n)
	for i := range list {
		one := struct {
			*Spec
			Het json.RawMessage `json:"het"`
		}{Spec: &list[i]}
		switch err := d.Decode(&one); {
		case err != nil:
			return err
		case bounded.Count(one.Het) > 0:
			return errors.New("a component has components")
		}
	}
	*c = list
	return nil
}
