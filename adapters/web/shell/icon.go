package shell

import (
	"io"
	"strings"
)

// icon serves the silhouette of a state as the icon of a tab, in colours that show on light and dark tabs.
func (s *Shell) icon(r *Request) (*Page, error) {
	name, _ := strings.CutSuffix(r.PathValue("file"), ".svg")
	colour := map[string]string{
		"done": "#4f9c78", "chg": "#b67b00", "fail": "#cf3329", "lost": "#9440ad", "now": "#2b6be0", "hold": "#cd5f0c",
	}[Hue(name)]
	if colour == "" {
		colour = "#818a97"
	}
	drawing := strings.NewReplacer("currentColor", colour, "var(--surface)", "#ffffff").Replace(glyphs(name))
	h := r.Writer.Header()
	h.Set("Content-Type", "image/svg+xml")
	h.Set("Cache-Control", "public, max-age=86400")
	_, _ = io.WriteString(r.Writer, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">`+drawing+`</svg>`)
	return nil, nil
}
