package runs

import (
	"encoding/json"
	"testing"
)

func TestAlike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[null,true]}`, ` { "b" : [ null , true ] , "a" : 1 } `, true},
		{`"\u003c\u0000\ud83d\ude00"`, `"<\u0000😀"`, true},
		{`{"a":null}`, `{}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`1`, `1.0`, false},
		{`100`, `1e2`, false},
		{`9007199254740992`, `9007199254740993`, false},
		{`-0`, `0`, false},
		{`"1"`, `1`, false},
	} {
		if got, err := Alike(json.RawMessage(c.a), json.RawMessage(c.b)); got != c.want || err != nil {
			t.Errorf("%s and %s: %t, %v", c.a, c.b, got, err)
		}
	}
	if _, err := Alike(json.RawMessage(`{`), 1); err == nil {
		t.Error("incomplete JSON is accepted")
	}
}
