package paper_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/audit/internal/report/paper"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "plain text\n\tand Größe, 日本, العربية, 🙂": "plain text\n\tand Größe, 日本, العربية, 🙂",
		"exe\u202Egpj":       "exe⟦U+202E⟧gpj",
		"a\u2066b\u2069":     "a⟦U+2066⟧b⟦U+2069⟧",
		"a\u200Bb\uFEFFc":    "a⟦U+200B⟧b⟦U+FEFF⟧c",
		"a\u00A0b\u3000":     "a⟦U+00A0⟧b⟦U+3000⟧",
		"a\x00b\x1b[2Kc\rd":  "a⟦U+0000⟧b⟦U+001B⟧[2Kc⟦U+000D⟧d",
		"\u0085\u2028\u2029": "⟦U+0085⟧⟦U+2028⟧⟦U+2029⟧",
		"\u3164\u115F\u2800": "⟦U+3164⟧⟦U+115F⟧⟦U+2800⟧",
		"x\U000E0041y":       "x⟦U+E0041⟧y",
		"x\uE000\uFFFE":      "x⟦U+E000⟧⟦U+FFFE⟧",
		"❤\uFE0F":            "❤⟦U+FE0F⟧",
		"⟦U+202E⟧":           "⟦U+27E6⟧U+202E⟦U+27E7⟧",
		"bad\xffbytes":       "bad\uFFFDbytes",
	} {
		if got := paper.Visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestJSONSaysTheTruth converts any text to JSON and back: no markup appears, and nothing is lost.
func TestJSONSaysTheTruth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := map[string]string{rapid.String().Draw(t, "name"): rapid.String().
			Draw(t, "value") + "\u202e</script>\u2028\U000E0041⟦"}
		b, err := paper.JSON(in)
		if err != nil {
			t.Fatal(err)
		}
		var out map[string]string
		if err := json.Unmarshal(b, &out); err != nil || len(out) != 1 {
			t.Fatalf("%s: %v", b, err)
		}
		for k, v := range in {
			if out[k] != v {
				t.Fatalf("%q became %q", in, out)
			}
		}
		if strings.ContainsAny(string(b), "<>&") || strings.ContainsFunc(string(b), paper.Invisible) || !utf8.Valid(b) {
			t.Fatalf("%s", b)
		}
	})
}

func TestRender(t *testing.T) {
	t.Parallel()
	doc, err := paper.JSON("</script><b>")
	if err != nil {
		t.Fatal(err)
	}
	b, err := paper.Render(t.Context(), "\u202e\"<b>", paper.Inert("it", doc))
	for _, want := range []string{
		"<title>⟦U+202E⟧&#34;&lt;b&gt;</title>",
		`<script type="application/json" id="it">"\u003c/script\u003e\u003cb\u003e"</script>`,
	} {
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s %v", b, err)
		}
	}
	for _, hostile := range []string{`"</script>"`, "\"\u2028\"", `"&"`, "alert(1)", ""} {
		if b, err := paper.Render(t.Context(), "it", paper.Inert("it", []byte(hostile))); err == nil {
			t.Errorf("%s became %s", hostile, b)
		}
	}
}

// Keeps T20.
func TestCellsAreNotComputed(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"=1+1": "'=1+1", " \t@SUM": "' \t@SUM", "-1": "'-1", "+1": "'+1", "\u200b=1": "'\u200b=1", "a=1": "a=1", "": "",
		"  ": "  ",
	} {
		if got := paper.Cell(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 hosts", 1: "1 host", 999: "999 hosts", 1000: "1,000 hosts",
		1234567: "1,234,567 hosts"} {
		if got := paper.Count(n, "host", "hosts"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
