package drivertest

import (
	"reflect"

	"fsub/federation"
	"fsub/federation/driver"
)

// testAbilities: a driver names whatever it can do beyond federation.Driver, the same each time, and so does one that wraps it.
func testAbilities(s *suite) {
	can := told(s.Driver)
	for ability, has := range map[string]bool{
		"Requeue": implements[driver.Requeuer](s.Driver), "Suspend": implements[driver.Suspender](s.Driver),
		"Update": implements[driver.Updater](s.Driver), "Notify": implements[driver.Notifier](s.Driver),
		"Run": implements[driver.Runner](s.Driver), "Measure": implements[driver.Measurer](s.Driver),
		"Steps": implements[driver.StepTeller](s.Driver), "SignalStep": implements[driver.StepSignaller](s.Driver),
		"Connect": implements[driver.Connector](s.Driver), "Pools": implements[driver.PoolTeller](s.Driver), "Nodes": implements[driver.NodeSetter](s.Driver),
		"Accounts": implements[driver.Accountant](s.Driver),
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
	v := reflect.ValueOf(driver.AbilitiesOf(d))
	for i := range v.NumField() {
		can[v.Type().Field(i).Name] = !v.Field(i).IsNil()
	}
	return can
}

func implements[T any](d federation.Driver) bool {
	_, ok := d.(T)
	return ok
}
