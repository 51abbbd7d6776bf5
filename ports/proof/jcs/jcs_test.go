package jcs

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestOneSpelling(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        `""`,
		"Ada":                     `"Ada"`,
		"a\"b\\c/":                `"a\"b\\c/"`,
		"\b\t\n\f\r":              `"\b\t\n\f\r"`,
		"\x01\x0b\x1f\x7f":        `"\u0001\u000b\u001f` + "\x7f\"",
		"é\u2028\ufffd\U0001f600": "\"é\u2028\ufffd\U0001f600\"",
	} {
		got, flaw := Append([]byte("x"), text)
		if flaw != None || string(got) != "x"+want {
			t.Errorf("Append(%q) = %s, %q, want x%s", text, got, flaw, want)
		}
		back, next, flaw := Scan("x"+want+"y", 1)
		if back != text || next != 1+len(want) || flaw != None {
			t.Errorf("Scan(%s) = %q, %d, %q", want, back, next, flaw)
		}
	}
}

func TestFlaws(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		flaw Flaw
		at   int
	}{
		``:                     {Syntax, 0},
		`a"`:                   {Syntax, 0},
		`"`:                    {Syntax, 1},
		`"abc`:                 {Syntax, 4},
		`"ab\n`:                {Syntax, 5},
		`"ab\`:                 {Syntax, 3},
		"\"a\nb\"":             {Control, 2},
		"\"a\\\"\x00\"":        {Control, 4},
		`"\u0061"`:             {Escape, 1},
		`"a\/"`:                {Escape, 2},
		`"\x41"`:               {Escape, 1},
		`"\u000a"`:             {Escape, 1},
		`"\u001F"`:             {Escape, 1},
		`"\u0022"`:             {Escape, 1},
		`"\u00"`:               {Escape, 1},
		`"\ud800"`:             {Escape, 1},
		`"\ud83d\ude00"`:       {Escape, 1},
		"\"\\\\\xff\"":         {UTF8, 1},
		"\"\xed\xa0\x80\"":     {UTF8, 1},
		"\"\xc0\xaf\"":         {UTF8, 1},
		`"a\u0000"`:            {NUL, 1},
		"\"\xff\\u0000\"":      {UTF8, 1},
		"\"\xff\\u0061\"":      {Escape, 2},
		"\"\xf4\x90\x80\x80\"": {UTF8, 1},
	} {
		if _, at, flaw := Scan(text, 0); flaw != want.flaw || at != want.at {
			t.Errorf("Scan(%q): %q at %d, want %q at %d", text, flaw, at, want.flaw, want.at)
		}
	}
	for text, want := range map[string]Flaw{
		"a\x00": NUL, "é\x00": NUL, "\x00\xff": UTF8, "a\xff": UTF8, "é\xff": UTF8, "é": None, "": None,
	} {
		b, flaw := Append([]byte("kept"), text)
		if flaw != want || flaw != None && string(b) != "kept" {
			t.Errorf("Append(%q) = %q, %q, want %q", text, b, flaw, want)
		}
	}
}

func TestStringsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		b, flaw := Append(nil, text)
		if strings.Contains(text, "\x00") {
			if flaw != NUL {
				t.Fatalf("flaw %q for U+0000", flaw)
			}
			return
		}
		back, next, flaw := Scan(string(b), 0)
		if flaw != None || back != text || next != len(b) {
			t.Fatalf("%s came back as %q, %d, %q", b, back, next, flaw)
		}
		var other string
		if err := json.Unmarshal(b, &other); err != nil || other != text {
			t.Fatalf("another reader has %q, %v", other, err)
		}
	})
}

// TestEveryPlace puts each character at each place of a longer text.
func TestEveryPlace(t *testing.T) {
	t.Parallel()
	for c := rune(1); c < 0x180; c++ {
		for at := range 20 {
			text := strings.Repeat("x", at) + string(c) + strings.Repeat("~", 19-at)
			b, flaw := Append(nil, text)
			var other string
			if err := json.Unmarshal(b, &other); err != nil || other != text || flaw != None {
				t.Fatalf("%q is written as %s", text, b)
			}
			if back, next, flaw := Scan(string(b), 0); back != text || next != len(b) || flaw != None {
				t.Fatalf("%s is read as %q, %q", b, back, flaw)
			}
			raw := `"` + text + `"`
			if _, _, flaw := Scan(raw, 0); (flaw == None) != (raw == string(b)) && c != '"' {
				t.Fatalf("%q: %q", raw, flaw)
			}
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{`"a"`, `"\n"`, `"\u001f"`, `"\ud800"`, `"é`, "\"\xff\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, next, flaw := Scan(s, 0)
		if flaw != None {
			return
		}
		again, flaw := Append(nil, text)
		if flaw != None || string(again) != s[:next] || !utf8.ValidString(text) {
			t.Fatalf("%q was read as %q and is written as %q, %q", s[:next], text, again, flaw)
		}
	})
}
