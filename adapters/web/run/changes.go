package run

import (
	"encoding/json"
	"strings"
)

// change is the difference of one file or object.
type change struct {
	Header string
	Lines  []line
	// Added and Removed count lines. Cut is how many lines are left out.
	Added, Removed, Cut int
}

// line is a line of a difference: what was there and what is there. Same means that both are equal.
type line struct {
	Before, After       string
	HasBefore, HasAfter bool
	Same                bool
}

// The bounds of a difference that is shown.
const (
	maxDiffed  = 500 // lines of each side that are compared
	maxLines   = 200 // lines that are shown
	around     = 3   // equal lines before and after a change
	maxLineLen = 400
)

// tool is a difference as Ansible reports it.
type tool struct {
	Before       json.RawMessage `json:"before"`
	After        json.RawMessage `json:"after"`
	BeforeHeader string          `json:"before_header"`
	AfterHeader  string          `json:"after_header"`
	Prepared     string          `json:"prepared"`
}

// toolsOf reads the differences of an event: one or a list of them. It returns nil for an unknown form.
func toolsOf(raw json.RawMessage) []tool {
	var list []tool
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	var one tool
	if json.Unmarshal(raw, &one) != nil {
		return nil
	}
	return []tool{one}
}

// alike returns what two differences have in common that are equal on their hosts. The names of temporary files on the
// executor differ.
func alike(raw json.RawMessage) []byte {
	list := toolsOf(raw)
	for i := range list {
		list[i].AfterHeader = list[i].header()
	}
	same, err := json.Marshal(list)
	if list == nil || err != nil {
		return raw
	}
	return same
}

// header names the file or the object. The tool names what was there before; a new file may have a temporary name.
func (t *tool) header() string {
	if before := strings.TrimSpace(t.BeforeHeader); before != "" {
		return before
	}
	after := strings.TrimSpace(t.AfterHeader)
	if strings.Contains(after, "/ansible-") || strings.HasPrefix(after[strings.LastIndexByte(after, '/')+1:], "tmp") {
		return "a new file"
	}
	return after
}

// changesOf returns the differences of an event. Those of an unknown form are shown as they are.
func changesOf(raw json.RawMessage) []change {
	if len(raw) == 0 {
		return nil
	}
	list := toolsOf(raw)
	if list == nil {
		return []change{prepared("", string(raw))}
	}
	var out []change
	for i := range list {
		t := &list[i]
		c := change{}
		if t.Prepared != "" {
			c = prepared(t.header(), t.Prepared)
		} else {
			c = compared(t.header(), split(text(t.Before)), split(text(t.After)))
		}
		if len(c.Lines) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// text returns a side of a difference: a text, or a document that is written in lines.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	var v any
	if json.Unmarshal(raw, &v) != nil || v == nil {
		return ""
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(raw)
	}
	return string(b)
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// prepared takes a difference in the unified form.
func prepared(header, s string) change {
	c := change{Header: header}
	for _, l := range split(s) {
		switch {
		case strings.HasPrefix(l, "+++"), strings.HasPrefix(l, "---"):
		case strings.HasPrefix(l, "+"):
			c.add(line{After: l[1:], HasAfter: true})
		case strings.HasPrefix(l, "-"):
			c.add(line{Before: l[1:], HasBefore: true})
		default:
			c.add(line{Before: strings.TrimPrefix(l, " "), Same: true})
		}
	}
	return c
}

// compared compares the lines of two texts.
func compared(header string, a, b []string) change {
	c := change{Header: header}
	c.Cut = max(len(a)-maxDiffed, 0) + max(len(b)-maxDiffed, 0)
	a, b = a[:min(len(a), maxDiffed)], b[:min(len(b), maxDiffed)]
	keep := common(a, b)
	var lines []line
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		if i < len(a) && keep[i] == j {
			lines = append(lines, line{Before: a[i], Same: true})
			i, j = i+1, j+1
			continue
		}
		var l line
		if i < len(a) && keep[i] < 0 {
			l.Before, l.HasBefore = a[i], true
			i++
		}
		if j < len(b) && (i >= len(a) || keep[i] != j) && !kept(keep[i:], j) {
			l.After, l.HasAfter = b[j], true
			j++
		}
		lines = append(lines, l)
	}
	for k, l := range lines {
		if !l.Same || nearby(lines, k) {
			c.add(l)
		}
	}
	return c
}

// kept reports whether a line of the second text has an equal one among the rest of the first.
func kept(rest []int, j int) bool {
	for _, k := range rest {
		if k >= 0 {
			return k == j
		}
	}
	return false
}

// nearby reports whether a changed line is close to a line.
func nearby(lines []line, k int) bool {
	for i := max(0, k-around); i < min(len(lines), k+around+1); i++ {
		if !lines[i].Same {
			return true
		}
	}
	return false
}

// add appends a line, as far as lines are shown.
func (c *change) add(l line) {
	if l.HasAfter {
		c.Added++
	}
	if l.HasBefore {
		c.Removed++
	}
	if len(c.Lines) >= maxLines {
		c.Cut++
		return
	}
	l.Before, l.After = clipped(l.Before), clipped(l.After)
	c.Lines = append(c.Lines, l)
}

func clipped(s string) string {
	if len(s) <= maxLineLen {
		return s
	}
	return strings.ToValidUTF8(s[:maxLineLen], "") + "…"
}

// common returns for each line of a the index of its partner in b, -1 for none: a longest common subsequence.
func common(a, b []string) []int {
	out := make([]int, len(a))
	for i := range out {
		out[i] = -1
	}
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		out[start] = start
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
		out[endA] = endB
	}
	n, m := endA-start, endB-start
	length := make([][]uint16, n+1)
	for i := range length {
		length[i] = make([]uint16, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if a[start+i] == b[start+j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		switch {
		case a[start+i] == b[start+j]:
			out[start+i] = start + j
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return out
}
