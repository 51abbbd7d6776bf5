package keep_test

import (
	"reflect"
	"testing"

	module "github.com/writ-automation/writ/modules/secrets"
)

// TestNewKeeper asks for everything that the keeper cannot do without.
func TestNewKeeper(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[module.KeeperParams]()) {
		p := b.params
		reflect.ValueOf(&p).Elem().FieldByIndex(f.Index).SetZero()
		optional := f.Name == "Log" || f.Name == "Engines"
		if _, err := module.NewKeeper(p); (err == nil) != optional {
			t.Errorf("without %s: %v", f.Name, err)
		}
	}
}
