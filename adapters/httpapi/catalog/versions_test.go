package catalog_test

import (
	"testing"

	"github.com/writ-automation/writ/ports/page"
)

func TestInventoryVersions(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const stamp = `"at":"2026-01-05T08:30:00.123456Z"`
	row := func(n string) string {
		return `"number":` + n + `,` + stamp + `,"by":{"type":"user","id":"usr_1","name":"alex"},"how":"refresh",` +
			`"source_id":"src_1","format":"ini","hosts":1,"groups":2,"digest":"d19e57"`
	}
	f.Call("GET", "/v1/inventories/known/versions?limit=2&offset=1", "viewer", "").Is(200, `{"versions":[{`+row("2")+
		`},{"number":1,`+stamp+`,"how":"earlier","format":"json","hosts":0,"groups":0,"digest":""}],"count":2,"total":7,"limit":2}`)
	f.wasAsked("known", int64(0), page.Window{Offset: 1, Limit: 2})
	f.Call("GET", "/v1/inventories/known/versions/3", "viewer", "").Is(200, `{`+row("3")+`,"content":"web1 <&>\n"}`)
	f.wasAsked("known", int64(0), int64(3))
	const none = `{"added":[],"removed":[],"changed":[],"added_total":0,"removed_total":0,"changed_total":0}`
	rest := `"to":{` + row("3") + `},"hosts":{"added":["a"],"removed":["b"],"changed":[{"name":"c","vars":[
		{"name":"p","change":"changed","from":1,"to":"{{ x }}"},{"name":"q","change":"added","to":false},
		{"name":"r","change":"removed"}],"joined":["g"],"left":["h"]}],"added_total":7,"removed_total":8,"changed_total":9},
		"groups":` + none + `,"text":"@@\n+<&>\n","truncated":true}`
	f.Call("GET", "/v1/inventories/known/versions/3/diff?from=1", "viewer", "").Is(200, `{"from":{`+row("1")+`},`+rest)
	f.wasAsked("known", int64(0), int64(1), int64(3))
	f.Call("GET", "/v1/inventories/known/versions/3/diff", "viewer", "").Is(200, `{`+rest)
	f.wasAsked("known", int64(0), int64(0), int64(3))
	for path, where := range map[string]string{"/x": "version", "/-1": "version", "/x/diff": "version",
		"/3/diff?from=x": "from", "/3/diff?from=-1": "from", "?limit=x": "limit", "/3?content=no": "content"} {
		fields := f.Call("GET", "/v1/inventories/known/versions"+path, "viewer", "").Problem(400, "invalid")
		if len(fields) != 1 || fields[0] != where {
			t.Errorf("%s: %v", path, fields)
		}
	}
	for _, path := range []string{"", "/3", "/3/diff"} {
		f.Call("GET", "/v1/inventories/other/versions"+path, "viewer", "").Problem(404, "inventory_not_found")
	}
}
