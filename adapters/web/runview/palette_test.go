package runview

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// colour returns the red, green and blue of a colour, from 0 to 1.
func colour(t *testing.T, hex string) [3]float64 {
	t.Helper()
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	return [3]float64{float64(n>>16) / 255, float64(n>>8&255) / 255, float64(n&255) / 255}
}

func luminance(c [3]float64) float64 {
	for i, v := range c {
		if v <= 0.04045 {
			c[i] = v / 12.92
		} else {
			c[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2]
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(colour(t, a)), luminance(colour(t, b))
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// TestPaletteIsReadable checks that each colour of output has a contrast of 4.5 on every ground that a line may have,
// in both themes.
func TestPaletteIsReadable(t *testing.T) {
	t.Parallel()
	read := func(file string) string {
		b, err := os.ReadFile("../assets/css/" + file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const pair = `light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)`
	tokens := map[string][]string{}
	for _, m := range regexp.MustCompile(`--([a-z0-9-]+): `+pair).FindAllStringSubmatch(read("00-tokens.css"), -1) {
		tokens[m[1]] = m[2:]
	}
	value := func(text string) []string {
		if m := regexp.MustCompile(`^var\(--([a-z0-9-]+)\)$`).FindStringSubmatch(text); m != nil && tokens[m[1]] != nil {
			return tokens[m[1]]
		}
		m := regexp.MustCompile("^" + pair + "$").FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no colours: %s", text)
		}
		return m[1:]
	}
	rule := regexp.MustCompile(`\.([ag])-[a-z](?:, \.[ag]-[a-z])* \{ color: ([^;]+);(?: background: ([^;]+);)? \}`)
	seen := map[string]int{}
	for _, m := range rule.FindAllStringSubmatch(read("43-log.css"), -1) {
		grounds := []string{"var(--surface)", "var(--hover)", "var(--chg-w)"} // a line, under the pointer, marked
		if m[1] == "g" {
			grounds = []string{m[3]}
		}
		seen[m[1]]++
		for _, ground := range grounds {
			for theme := range 2 {
				if ratio := contrast(t, value(m[2])[theme], value(ground)[theme]); ratio < 4.5 {
					t.Errorf("%s on %s has a contrast of %.2f in theme %d", m[0], ground, ratio, theme)
				}
			}
		}
	}
	if seen["a"] < 8 || seen["g"] < 7 {
		t.Errorf("the style sheet has %v rules of colours", seen)
	}
}
