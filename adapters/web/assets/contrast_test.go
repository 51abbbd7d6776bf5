package assets

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What WCAG 2.2 AA asks of text, and of graphics and the borders of controls.
const (
	textContrast = 4.5
	markContrast = 3.0
)

// roles are the meanings of colour, each with a text, a mark and a wash.
func roles() []string { return []string{"done", "chg", "fail", "lost", "now", "hold", "idle"} }

// surfaces are the backgrounds that anything may stand on.
func surfaces() []string {
	out := []string{"bg", "surface", "raised", "sunken", "hover", "pick"}
	for _, r := range roles() {
		out = append(out, r+"-w")
	}
	return out
}

// palette resolves colours of one theme.
type palette struct {
	theme  int
	tokens map[string]string
}

var (
	comments = regexp.MustCompile(`(?s)/\*.*?\*/`)
	rules    = regexp.MustCompile(`([^{}]+)\{([^{}]*)\}`)
	tokens   = regexp.MustCompile(`--([\w-]+):\s*([^;}]+)`)
	setters  = regexp.MustCompile(`(?:^|[;\s])(color|background|background-color|fill|stroke|border-color):\s*([^;]+)`)
	pairs    = regexp.MustCompile(`^light-dark\(([^,]+),\s*([^)]+)\)$`)
	refers   = regexp.MustCompile(`^var\(--([\w-]+)\)$`)
	colour   = regexp.MustCompile(`^#[0-9a-f]{6}$`)
)

// of returns the colour that a value stands for, such as #0e1216, and whether it is one of the style sheets' own.
func (p palette) of(value string) (string, bool) {
	value = strings.TrimSpace(value)
	if m := refers.FindStringSubmatch(value); m != nil {
		return p.of(p.tokens[m[1]])
	}
	if m := pairs.FindStringSubmatch(value); m != nil {
		return p.of(m[1+p.theme])
	}
	return value, colour.MatchString(value)
}

func luminance(rgb string) float64 {
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, _ := strconv.ParseUint(rgb[1+2*i:3+2*i], 16, 8)
		v := float64(n) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func styles(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	names, err := fs.Glob(embedded, "css/*.css")
	if err != nil || len(names) == 0 {
		t.Fatalf("no style sheets: %v", err)
	}
	for _, name := range names {
		text, err := embedded.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return comments.ReplaceAllString(b.String(), "")
}

// palettes returns those of both themes, without and with more contrast.
func palettes(css string) map[string]palette {
	named, more := map[string]string{}, map[string]string{}
	for _, m := range tokens.FindAllStringSubmatch(css[:strings.Index(css, "@media")], -1) {
		named[m[1]] = m[2]
	}
	_, asked, _ := strings.Cut(css, "(prefers-contrast: more)")
	maps.Copy(more, named)
	for _, m := range tokens.FindAllStringSubmatch(asked[:strings.Index(asked, "}")], -1) {
		more[m[1]] = m[2]
	}
	return map[string]palette{
		"light": {0, named}, "dark": {1, named}, "light with more contrast": {0, more}, "dark with more contrast": {1, more},
	}
}

// expand returns a value for each role if it depends on one.
func expand(value string) []string {
	for _, part := range []string{"t", "m", "w"} {
		if value != "var(--"+part+")" {
			continue
		}
		var out []string
		for _, r := range roles() {
			out = append(out, "var(--"+r+"-"+part+")")
		}
		return out
	}
	return []string{value}
}

// use is a colour in front of another one.
type use struct {
	rule, front, back string
	least             float64
}

// uses returns the pairs of colours in use. A rule that sets the colour of the text and the background is one pair. A
// text or a mark without a background of its own may stand on every surface.
func uses(css string) []use {
	var out []use
	for _, rule := range rules.FindAllStringSubmatch(css, -1) {
		var backs []string
		fronts := map[string]float64{}
		for _, m := range setters.FindAllStringSubmatch(rule[2], -1) {
			value := strings.TrimSpace(m[2])
			mark := strings.HasSuffix(value, "-m)") || value == "var(--m)" || value == "var(--edge)" || value == "var(--focus)"
			switch {
			case strings.HasPrefix(m[1], "background"):
				backs = append(backs, expand(value)...)
			case mark:
				fronts[value] = markContrast
			case m[1] == "color":
				fronts[value] = textContrast
			}
		}
		for front, least := range fronts {
			for i, f := range expand(front) {
				switch {
				case len(backs) == len(roles()) && front != f: // the text and the wash of the same role
					out = append(out, use{rule[1], f, backs[i], least})
				case len(backs) > 0 && backs[0] != "none":
					for _, b := range backs {
						out = append(out, use{rule[1], f, b, least})
					}
				default:
					for _, s := range surfaces() {
						out = append(out, use{rule[1], f, "var(--" + s + ")", least})
					}
				}
			}
		}
	}
	return out
}

// TestContrast computes the contrast of all pairs of colours in use, in both themes.
func TestContrast(t *testing.T) {
	t.Parallel()
	css := styles(t)
	for name, p := range palettes(css) {
		checked, wrong := 0, map[string]bool{}
		for _, u := range uses(css) {
			front, ok := p.of(u.front)
			back, own := p.of(u.back)
			if !ok || !own {
				continue
			}
			checked++
			if got := contrast(front, back); got < u.least {
				wrong[fmt.Sprintf("%s: %s on %s has a contrast of %.2f, below %.1f", strings.TrimSpace(u.rule), u.front, u.back,
					got, u.least)] = true
			}
		}
		for _, w := range slices.Sorted(maps.Keys(wrong)) {
			t.Errorf("%s: %s", name, w)
		}
		if checked < 1000 {
			t.Errorf("%s: only %d pairs were found", name, checked)
		}
	}
}

// TestBackgrounds keeps the backgrounds to those that TestContrast puts everything on, or that have a text of their
// own.
func TestBackgrounds(t *testing.T) {
	t.Parallel()
	known := []string{"none", "var(--w)", "var(--m)", "var(--veil)", "Mark", "CanvasText", "Canvas", "inherit",
		"transparent"}
	for _, s := range surfaces() {
		known = append(known, "var(--"+s+")")
	}
	for _, rule := range rules.FindAllStringSubmatch(styles(t), -1) {
		text := false
		var back string
		for _, m := range setters.FindAllStringSubmatch(rule[2], -1) {
			text = text || m[1] == "color"
			if strings.HasPrefix(m[1], "background") {
				back = strings.TrimSpace(m[2])
			}
		}
		decoration := strings.Contains(rule[1], "::before") || strings.Contains(rule[1], "::after")
		if back != "" && !text && !decoration && !slices.Contains(known, back) {
			t.Errorf("%s has the background %s, and sets no colour of the text on it", strings.TrimSpace(rule[1]), back)
		}
	}
}
