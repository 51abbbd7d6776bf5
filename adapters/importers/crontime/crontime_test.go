package crontime

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field Field
		set   Set
		want  string
	}{
		{Minute, Minute.All(), "*"},
		{Minute, Range(0, 59, 15), "*/15"},
		{Minute, Range(7, 59, 15), "7-59/15"},
		{Minute, Of(7, 22, 37), "7-37/15"},
		{Minute, Of(0, 30), "*/30"},
		{Minute, Of(0, 29), "0,29"},
		{Hour, Range(8, 17, 1), "8-17"},
		{Hour, Of(3), "3"},
		{Hour, Of(1, 2, 3, 7, 9, 10), "1-3,7,9,10"},
		{Day, Range(1, 31, 2), "*/2"},
		{Day, Range(2, 31, 2), "2-31/2"},
		{Month, Range(1, 12, 3), "*/3"},
		{Weekday, Range(1, 5, 1), "1-5"},
		{Weekday, Of(0, 6), "0,6"},
		{Weekday, 0, ""},
	} {
		if got := c.field.Text(c.set); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.field, c.set.Values(), got, c.want)
		}
	}
}

func TestEveryTextParsesAsTheSameSet(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // Examples are no secrets.
	for f := Minute; f <= Weekday; f++ {
		for range 5000 {
			set := Set(random.Uint64()&random.Uint64()) & f.All()
			if set == 0 {
				continue
			}
			for _, text := range []string{f.Text(set), f.list(set)} {
				if got, err := f.Parse(text); err != nil || got != set {
					t.Fatalf("%s %v as %q: %v, %v", f, set.Values(), text, got.Values(), err)
				}
			}
			text, ok := f.starred(set)
			if low, _ := f.Bounds(); ok != set.Has(low) {
				t.Fatalf("%s %v: starred %t", f, set.Values(), ok)
			}
			if got, err := f.Parse(text); ok && (err != nil || got != set || text[0] != '*') {
				t.Fatalf("%s %v as %q: %v, %v", f, set.Values(), text, got.Values(), err)
			}
		}
	}
}

func TestParseField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field Field
		text  string
		want  []int
	}{
		{Minute, "05", []int{5}},
		{Minute, "0-59/30", []int{0, 30}},
		{Minute, "50/5", []int{50, 55}},
		{Minute, "*/90", []int{0}},
		{Minute, "1,1,3-5", []int{1, 3, 4, 5}},
		{Hour, "*/12", []int{0, 12}},
		{Day, "*/10", []int{1, 11, 21, 31}},
		{Month, "JAN,mar-May,12", []int{1, 3, 4, 5, 12}},
		{Weekday, "7", []int{0}},
		{Weekday, "5-7", []int{0, 5, 6}},
		{Weekday, "0-7", []int{0, 1, 2, 3, 4, 5, 6}},
		{Weekday, "fri-Sun", []int{0, 5, 6}},
		{Weekday, "sun-tue", []int{0, 1, 2}},
		{Weekday, "1/2", []int{1, 3, 5}},
	} {
		got, err := c.field.Parse(c.text)
		if err != nil || !slices.Equal(got.Values(), c.want) {
			t.Errorf("%s %q: %v, %v, want %v", c.field, c.text, got.Values(), err, c.want)
		}
	}
	for i, name := range []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"} {
		if got, err := Month.Parse(name); err != nil || got != Of(i+1) {
			t.Errorf("%s: %v, %v", name, got.Values(), err)
		}
	}
	for i, name := range []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} {
		if got, err := Weekday.Parse(name); err != nil || got != Of(i) {
			t.Errorf("%s: %v, %v", name, got.Values(), err)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                "the expression has 0 fields and not five",
		"* * * *":         "the expression has 4 fields and not five",
		"0 * * * * *":     "the expression has 6 fields and not five",
		"@reboot":         `"@reboot" is no time of the clock`,
		"@every 5m":       `"@every" is no time of the clock`,
		"60 * * * *":      `minute: "60" is not between 0 and 59`,
		"-5 * * * *":      "minute: a value is missing",
		"* 5-3 * * *":     `hour: the range "5-3" runs backwards`,
		"* * 0 * *":       `day of month: "0" is not between 1 and 31`,
		"* * L * *":       `day of month: "L" is not supported`,
		"* * * foo *":     `month: "foo" is not supported`,
		"* * * * 8":       `day of week: "8" is not between 0 and 7`,
		"* * * * 1#2":     `day of week: "1#2" is not supported`,
		"*/0 * * * *":     `minute: the step "0" is not a number above 0`,
		"*/ * * * *":      `minute: the step "" is not a number above 0`,
		"*/99999 * * * *": `minute: the step "99999" is not a number above 0`,
		"99999 * * * *":   `minute: "99999" is not between 0 and 59`,
		"1,,2 * * * *":    "minute: a value is missing",
		"0~30 * * * *":    `minute: "0~30" is not supported`,
		"*-5 * * * *":     `minute: "*" is not supported`,
		"5-* * * * *":     `minute: "*" is not supported`,
	} {
		if _, err := ParseUnix(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestUnix(t *testing.T) {
	t.Parallel()
	both := func(days, weekdays Set) Spec {
		s := Every()
		s.Minutes, s.Hours, s.Days, s.Weekdays = Of(0), Of(3), days, weekdays
		return s
	}
	either := func(days, weekdays Set) Spec {
		s := both(days, weekdays)
		s.Either = true
		return s
	}
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Every(), "* * * * *"},
		{both(Day.All(), Range(1, 5, 1)), "0 3 * * 1-5"},
		{both(Of(1), Weekday.All()), "0 3 1 * *"},
		{either(Of(1), Of(1)), "0 3 1 * 1"},
		{either(Range(1, 31, 2), Of(1)), "0 3 1-31/2 * 1"},
		{either(Day.All(), Of(1)), "0 3 * * *"},
		{either(Of(4), Weekday.All()), "0 3 * * *"},
		{both(Range(1, 31, 2), Of(1)), "0 3 */2 * 1"},
		{both(Range(1, 7, 1), Of(1)), "0 3 */31,2-7 * 1"},
		{both(Of(1), Of(1)), "0 3 */31 * 1"},
		{both(Range(8, 14, 1), Of(0)), "0 3 8-14 * */7"},
		{both(Range(8, 14, 1), Of(0, 1)), "0 3 8-14 * */7,1"},
		{both(Range(8, 14, 1), Of(1)), ""},
		{both(0, Of(1)), ""},
	} {
		got, ok := c.spec.Unix()
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%+v: %q, %t, want %q", c.spec, got, ok, c.want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"@yearly": "0 0 1 1 *", "@Annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", " @weekly ": "0 0 * * 0",
		"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *", "@every_minute": "* * * * *",
	} {
		s, err := ParseUnix(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got, _ := s.Unix(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
