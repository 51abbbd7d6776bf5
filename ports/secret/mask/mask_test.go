package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// chunked masks text in the given pieces.
func chunked(m *Masker, text string, sizes func() int) string {
	st, out := m.Stream(), []byte(nil)
	for len(text) > 0 {
		n := min(max(sizes(), 1), len(text))
		out = st.Append(out, []byte(text[:n]))
		text = text[n:]
	}
	return string(st.Close(out))
}

// encoders are the forms that a tool prints, each as a function of the bytes around the secret.
func encoders() map[string]func(s string) string {
	b64 := func(e *base64.Encoding, before int) func(string) string {
		return func(s string) string { return e.EncodeToString([]byte("xyz"[:before] + s + "tail")) }
	}
	quote := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	return map[string]func(string) string{
		"raw":        func(s string) string { return s },
		"json":       quote,
		"json2":      func(s string) string { return quote(quote(s)) },
		"query":      url.QueryEscape,
		"path":       url.PathEscape,
		"python url": func(s string) string { return percent(s, "-_.~/") },
		"shell":      func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
		"hex":        func(s string) string { return hex.EncodeToString([]byte("x" + s + "y")) },
		"HEX":        func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
		"std0":       b64(base64.StdEncoding, 0), "std1": b64(base64.StdEncoding, 1), "std2": b64(base64.StdEncoding, 2),
		"url0": b64(base64.URLEncoding, 0), "url1": b64(base64.URLEncoding, 1), "url2": b64(base64.URLEncoding, 2),
	}
}

func TestEveryFormIsMaskedInAnyChunking(t *testing.T) {
	t.Parallel()
	for name, form := range encoders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				secret := rapid.StringMatching(`[a-zA-Z0-9 '"$&+/\\<>%äß🙂]{6,24}`).Draw(t, "secret")
				if secret != strings.TrimSpace(secret) {
					t.Skip("spaces at the ends are printed apart")
				}
				encoded := form(secret)
				before := rapid.StringMatching(`[!-~\n ]{0,30}`).Draw(t, "before")
				after := rapid.StringMatching(`[!-~\n ]{0,30}`).Draw(t, "after")
				m := New([]string{secret})
				got := chunked(m, before+encoded+after, func() int { return rapid.IntRange(1, 7).Draw(t, "chunk") })
				whole := m.String(before + encoded + after)
				if got != whole {
					t.Fatalf("chunks decide: %q against %q", got, whole)
				}
				if !strings.Contains(got, Replacement) {
					t.Fatalf("%q leaks in %q", encoded, got)
				}
				if core := strings.Trim(encoded, `"'\`); name == "raw" && strings.Contains(got, core) {
					t.Fatalf("%q leaks in %q", core, got)
				}
			})
		})
	}
}

// TestFormsOfProgramsAreMasked has what certain programs make of secrets that are documents, or too long for a line.
func TestFormsOfProgramsAreMasked(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789 c4nary/", 12)
	broken := func(s string, width int) string {
		var b strings.Builder
		for text := base64.StdEncoding.EncodeToString([]byte(s)); text != ""; text = text[min(width, len(text)):] {
			b.WriteString(text[:min(width, len(text))] + "\n")
		}
		return b.String()
	}
	dumped := func(s string) string {
		var b strings.Builder
		for part := range slices.Chunk([]byte(s), 30) {
			b.WriteString(hex.EncodeToString(part) + "\n")
		}
		return b.String()
	}
	for name, c := range map[string]struct{ secret, text, want string }{
		"a document with escapes for HTML": {
			`{"k": "c4nary\u0026<é\u2028"}`, `"{\"k\": \"c4nary\\u0026<\u00e9\\u2028\"}"`, `"***"`,
		},
		"a document in a document": {
			`{"k": "c4nary\u0026"}`, `"\"{\\\"k\\\": \\\"c4nary\\\\u0026\\\"}\""`, `"\"***\""`,
		},
		"a separator of lines":       {"c4nary\u2028x", `c4nary\u2028x`, "***"},
		"a query that keeps slashes": {"a c4nary/b+", "a+c4nary/b%2B", "***"},
		"printf %q of bash":          {"a#b ~c=~d", `a#b\ ~c=\~d`, "***"},
		"printf %q of zsh":           {"a#b ~c=~d", `a\#b\ \~c=\~d`, "***"},
		"lines in a list": {"a \"one\"\n  a \"two\"\n", `["x=a \"one\"", "  a \"two\"", ""]`,
			`["x=***", "  ***", ""]`},
		"without its last break":     {"a \"one\"\n\n", `"a \"one\"" a+%22one%22 YSAib25lIg==`, `"***" *** ***g==`},
		"a command in a document":    {`it's`, `{"cmd": "echo 'it'\"'\"'s'"}`, `{"cmd": "echo '***'"}`},
		"base64 on lines":            {long, broken(long, 76), "***\n***\n***\n***\n"},
		"base64 on lines of openssl": {long, broken(long+"\n", 64), "***\n***\n***\n***\n***Cg==\n"},
		"a plain dump":               {long, dumped(long), "***\n***\n***\n***\n***\n***\n***\n***\n"},
		"base64 behind something":    {long, broken("ab"+long, 76), "YWI***\n***\n***\n***8=\n"},
	} {
		if got := New([]string{c.secret}).String(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestOutputIsTheTextWithoutSecrets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[ab]{4,8}`), 1, 4).Draw(t, "secrets")
		text := rapid.StringMatching(`[abc]{0,60}`).Draw(t, "text")
		m := New(secrets)
		got := chunked(m, text, func() int { return rapid.IntRange(1, 5).Draw(t, "chunk") })
		for _, s := range secrets {
			if strings.Contains(got, s) {
				t.Fatalf("%q leaks in %q", s, got)
			}
		}
		if want := reference(secrets, text); strings.ReplaceAll(got, "******", "***") != strings.ReplaceAll(want, "******",
			"***") {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// reference masks by looking for every secret at every position.
func reference(secrets []string, text string) string {
	hit := make([]bool, len(text))
	for i := range text {
		for _, s := range secrets {
			if strings.HasPrefix(text[i:], s) {
				for j := range s {
					hit[i+j] = true
				}
			}
		}
	}
	var b strings.Builder
	for i := range text {
		if !hit[i] {
			b.WriteByte(text[i])
		} else if i == 0 || !hit[i-1] {
			b.WriteString(Replacement)
		}
	}
	return b.String()
}

func TestDelaysOnlyWhatMayBecomeASecret(t *testing.T) {
	t.Parallel()
	st := New([]string{"hunter22"}).Stream()
	if got := string(st.Append(nil, []byte("a line\nhunt"))); got != "a line\n" {
		t.Fatalf("showed %q", got)
	}
	if got := string(st.Append(nil, []byte("ing\n"))); got != "hunting\n" {
		t.Fatalf("showed %q", got)
	}
	if got := string(st.Close(st.Append(nil, []byte("hunter2")))); got != "hunter2" {
		t.Fatalf("the end is %q", got)
	}
}

func TestLinesOfASecret(t *testing.T) {
	t.Parallel()
	m := New([]string{"-----BEGIN KEY-----\nMIIEabcdef\nc2Vjcm\n-----END KEY-----\n"})
	if got := m.String("  MIIEabcdef\n  c2Vjcm\n"); got != "  ***\n  ***\n" {
		t.Fatalf("got %q", got)
	}
}

func TestShortSecretsAndNone(t *testing.T) {
	t.Parallel()
	for _, m := range []*Masker{nil, New(nil), New([]string{"abc", ""})} {
		if !m.Empty() || m.String("abc") != "abc" || string(m.JSON([]byte(`"abc"`))) != `"abc"` {
			t.Fatal("a masker without secrets changed a text")
		}
		if st := m.Stream(); string(st.Close(st.Append(nil, []byte("abc")))) != "abc" {
			t.Fatal("a stream without secrets changed a text")
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	m := New([]string{"s3cr\"et\n!", "987654321", "plainword"})
	in := `{"a":"x s3cr\"et\n! y","\u0070lainword":[1.5,987654321,true,null,"\u0070lainword","ok\u00e9"],"n":12345678901234567890}`
	want := `{"a":"x *** y","***":[1.5,"***",true,null,"***","ok\u00e9"],"n":12345678901234567890}`
	if diff := cmp.Diff(want, string(m.JSON(json.RawMessage(in)))); diff != "" {
		t.Fatal(diff)
	}
	if got := string(m.JSON([]byte(`{"a": plainword`))); got != `"{\"a\": ***"` {
		t.Fatalf("no JSON gives %s", got)
	}
}

func TestPrefix(t *testing.T) {
	t.Parallel()
	m := New([]string{"hunter22", "hunter22-and-more"})
	for text, want := range map[string]string{
		"": "", "all": "all", "a hunter2": "a ", "a hunter22": "a ", "a hunter22.": "a ***.", "a h": "a ", "a hum": "a hum",
	} {
		if got := m.Prefix(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := New(nil).Prefix("hunter2"); got != "hunter2" {
		t.Errorf("got %q", got)
	}
}

// TestBlank compares with a search at every position, over a text in pieces of which the undecided ends come again.
func TestBlank(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[ab]{4,8}`), 0, 4).Draw(t, "secrets")
		text := rapid.StringMatching(`[abc]{0,60}`).Draw(t, "text")
		want := []byte(text)
		for i := range text {
			for _, s := range secrets {
				if strings.HasPrefix(text[i:], s) {
					stars(want[i : i+len(s)])
				}
			}
		}
		m := New(secrets)
		var got, rest []byte
		hidden := 0
		for left := text; left != ""; {
			n := rapid.IntRange(1, len(left)).Draw(t, "piece")
			rest = append(rest, left[:n]...)
			left = left[n:]
			out, undecided, next := m.Blank(rest, hidden)
			decided := len(out) - undecided
			hidden = next
			got, rest = append(got, out[:decided]...), rest[decided:]
		}
		out, _, _ := m.Blank(rest, hidden)
		if got = append(got, out...); string(got) != string(want) {
			t.Fatalf("%s: got %s, want %s", text, got, want)
		}
	})
}

// TestNewFor compares a masker for short texts with one for all: both find the same in these.
func TestNewFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[a"\n]{3,12}`), 0, 4).Draw(t, "secrets")
		text := rapid.StringMatching(`[a"\\n\n6122]{0,40}`).Draw(t, "text")
		m := NewFor(secrets, len(text))
		if got, want := m.Found(text), New(secrets).Found(text); got != want {
			t.Fatalf("%t, want %t", got, want)
		}
	})
	if n := len(NewFor([]string{strings.Repeat("secret ", 1000)}, 100).nodes); n != 0 {
		t.Errorf("%d nodes for what cannot be found", n)
	}
}

func FuzzStream(f *testing.F) {
	f.Add("hunter22", "xhunterhunter22y", 3)
	f.Fuzz(func(t *testing.T, secret, text string, chunk int) {
		if len(secret) > 200 || len(text) > 4000 {
			return
		}
		m := New([]string{secret})
		got := chunked(m, text+secret+text, func() int { return chunk % 64 })
		if got != m.String(text+secret+text) {
			t.Fatalf("chunks of %d decide", chunk)
		}
		if len(secret) >= MinLen && !strings.Contains(Replacement, secret) && !strings.ContainsAny(secret, "*") &&
			strings.Contains(got, secret) {
			t.Fatalf("%q leaks in %q", secret, got)
		}
	})
}

func BenchmarkStream(b *testing.B) {
	text := bytes.Repeat([]byte("ok: [web01] => {\"changed\": false, \"msg\": \"All items completed\"}\n"), 1000)
	key := strings.Repeat("b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAABlwAAAAdzc2gtcn\n", 40)
	for name, m := range map[string]*Masker{"none": New(nil),
		"three": New([]string{"hunter22", "correct horse", "Pa$$w0rd!"}), "key": New([]string{key})} {
		b.Run(name, func(b *testing.B) {
			st, dst := m.Stream(), make([]byte, 0, 2*len(text))
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				dst = st.Append(dst[:0], text)
			}
		})
	}
}
