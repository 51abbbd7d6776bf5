package disclosure

import (
	"encoding/base64"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// altered changes an encoded disclosure, or what it encodes.
func altered(t *rapid.T, text string) string {
	b := []byte(text)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	inside := err == nil && rapid.Bool().Draw(t, "inside")
	if inside {
		b = raw
	}
	if len(b) > 0 {
		at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
		c := rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte("\r\n\"\\[],A "))).Draw(t, "byte")
		switch rapid.IntRange(0, 2).Draw(t, "how") {
		case 0:
			b[at] = c
		case 1:
			b = slices.Insert(b, at, c)
		default:
			b = slices.Delete(b, at, at+1)
		}
	}
	if inside {
		return base64.RawURLEncoding.EncodeToString(b)
	}
	return string(b)
}

// TestCountsAreThoseOfMatch compares Count with Match: the numbers and the errors, for disclosures of usual and unusual
// values, altered ones whose digest the leaf has nevertheless, repeated and missing ones.
func TestCountsAreThoseOfMatch(t *testing.T) {
	t.Parallel()
	value := rapid.OneOf(rapid.StringMatching(`[ -~]{0,20}`), rapid.String(), rapid.StringN(200, 700, 700))
	rapid.Check(t, func(t *rapid.T) {
		var sd, encoded []string
		for range rapid.IntRange(0, 20).Draw(t, "values") {
			d, err := New(rapid.SampledFrom(Names()).Draw(t, "name"), Fit(value.Draw(t, "value")))
			if err != nil {
				t.Fatal(err)
			}
			text, err := d.Encode()
			if err != nil {
				t.Fatal(err)
			}
			kind := rapid.IntRange(0, 15).Draw(t, "kind")
			if kind == 0 {
				text = altered(t, text)
			}
			if kind != 1 {
				sd = append(sd, Digest(text))
			}
			if kind != 2 {
				encoded = append(encoded, text)
			}
			if kind == 3 {
				encoded = append(encoded, text)
			}
		}
		slices.Sort(sd)
		sd = slices.Compact(sd)
		m, want := Match(sd, encoded)
		open, missing, err := Count(sd, encoded)
		if code(err) != code(want) || (err == nil) != (want == nil) || open != len(m.Open) || missing != len(m.Missing) {
			t.Fatalf("%d and %d, %v; Match has %d and %d, %v", open, missing, err, len(m.Open), len(m.Missing), want)
		}
	})
	for _, v := range vectors(t).Match {
		if _, missing, err := Count(v.SD, v.Disclosures); code(err) != v.Code || err == nil && missing != len(v.Missing) {
			t.Errorf("%s: %d are missing, %v", v.Case, missing, err)
		}
	}
	for _, v := range vectors(t).Invalid {
		if _, _, err := Count([]string{Digest(v.Disclosure)}, []string{v.Disclosure}); code(err) != v.Code {
			t.Errorf("%s: %v, want %s", v.Case, err, v.Code)
		}
	}
}
