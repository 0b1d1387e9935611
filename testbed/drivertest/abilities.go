package drivertest

import (
	"reflect"

	"fsub/federation"
)

// testAbilities: a driver names whatever it can do beyond federation.Driver, the same each time, and so does one that wraps it.
func testAbilities(s *suite) {
	can := told(s.Driver)
	for ability, has := range map[string]bool{
		"Requeue": implements[federation.Requeuer](s.Driver), "Suspend": implements[federation.Suspender](s.Driver),
		"Update": implements[federation.Updater](s.Driver), "Notify": implements[federation.Notifier](s.Driver),
		"Run": implements[federation.Runner](s.Driver), "Measure": implements[federation.Measurer](s.Driver),
		"Steps": implements[federation.StepTeller](s.Driver), "SignalStep": implements[federation.StepSignaller](s.Driver),
		"Pools": implements[federation.PoolTeller](s.Driver), "Nodes": implements[federation.NodeSetter](s.Driver),
		"Accounts": implements[federation.Accountant](s.Driver),
	} {
		if has && !can[ability] {
			s.Errorf("the driver has the methods of %s, and does not tell of it", ability)
		}
	}
	for name, d := range map[string]federation.Driver{"asked again": s.Driver, "Lossy": s.Lossy, "Hasty": s.Hasty} {
		if again := told(d); !reflect.DeepEqual(again, can) {
			s.Errorf("%s: it can %v, and the driver %v", name, again, can)
		}
	}
}

// told are the abilities that a driver tells of, by name.
func told(d federation.Driver) map[string]bool {
	can := map[string]bool{}
	v := reflect.ValueOf(federation.AbilitiesOf(d))
	for i := range v.NumField() {
		can[v.Type().Field(i).Name] = !v.Field(i).IsNil()
	}
	return can
}

func implements[T any](d federation.Driver) bool {
	_, ok := d.(T)
	return ok
}
