package httpapi

import (
	"path"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// schemaName names a schema by its folder and type, since two contexts may well have a ListBody each.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	folder := path.Base(t.PkgPath())
	if t.PkgPath() == "" || folder == "httpapi" {
		return name
	}
	if folder == "proof" { // the library of the context audit
		folder = "audit"
	}
	folder = strings.ToUpper(folder[:1]) + folder[1:]
	if strings.HasPrefix(name, folder) {
		return name
	}
	return folder + name
}
