package controller

import (
	"reflect"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
)

// notPlaced are the fields of a site whose changes placement need not be told, each with the reason.
var notPlaced = map[string]string{
	"Name": "it never changes", "Seen": "compared beside, for placement may have failed over it", "SeenAt": "the time of a look is shown to people", "Pools": "follow from Seen", "ErrorSince": "shown to people",
	"NextTry": "shown to people", "Conditions": "shown to people", "NodeNotes": "shown to people",
	"Bound": "placement is told by Claim and Release", "Ours": "placement finds them itself",
	"Prices": "configured", "Speed": "configured", "Data": "configured", "Backlog": "configured", "AccountBacklog": "configured", "Users": "configured",
	"Accounts": "configured", "FileSystems": "configured", "Options": "configured", "Preempt": "configured",
}

// TestPlacedAlike: a field of a site that placement reads is compared, or a change of it would never reach placement.
func TestPlacedAlike(t *testing.T) {
	for i := range reflect.TypeFor[federation.Site]().NumField() {
		var a, b federation.Site
		v, field := reflect.ValueOf(&b).Elem().Field(i), reflect.TypeFor[federation.Site]().Field(i)
		switch field.Name {
		case "Outlook":
			b.Outlook = struct{ decision.Outlook }{}
		case "Payers":
			b.Payers = struct{ federation.Payers }{}
		case "Lost":
			b.Lost = time.Unix(1, 0)
		default:
			other(v)
		}
		if why := notPlaced[field.Name]; placedAlike(&a, &b) != (why != "") {
			t.Errorf("with another %s two sites are placed alike: %v; a reason why not to tell placement: %q", field.Name, why == "", why)
		}
	}
}

// other makes v something else than its zero value.
func other(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("other")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	}
}
