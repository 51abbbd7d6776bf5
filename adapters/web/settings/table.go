package settings

import (
	"strconv"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
)

// table is a list of a page. The first column identifies a row.
type table struct {
	Caption string
	Heads   []string
	Rows    []row
	// Empty and Why are shown for a table without rows.
	Empty, Why string
}

type row struct {
	Cells []cell
	// Form is a button of the row, Button its word.
	Form   *shell.Form
	Fields map[string]string
	Button string
	// Link and LinkText lead to a page that asks before it changes something.
	Link, LinkText string
}

// cell is a value of a row: a text or a time, with a second line.
type cell struct {
	Text, Sub, Href string
	State           *shell.State
	At              time.Time
	Mono            bool
}

// empty reports whether the cell has nothing, which a phone leaves out.
func (c cell) empty() bool { return c.Text == "" && c.Sub == "" && c.State == nil && c.At.IsZero() }

func text(s string) cell { return cell{Text: s} }

func mono(s string) cell { return cell{Text: s, Mono: true} }

func at(t time.Time) cell { return cell{At: t} }

// never is a time that may be none.
func never(t time.Time, word string) cell {
	if t.IsZero() {
		return cell{Text: word}
	}
	return cell{At: t}
}

func state(glyph, word string) cell { return cell{State: &shell.State{Glyph: glyph, Word: word}} }

// editOf and deleteOf are the pages that change and delete a record.
func editOf(kind, id string) string { return "/ui/objects/" + kind + "/" + id + "/edit" }

func deleteOf(kind, id string) string { return editOf(kind, id) + "?sheet=delete" }

// pages is a part of a list, by its query "from".
type pages struct{ From, Total, Shown int }

// pageOf reads the query of a list.
func pageOf(r *shell.Request) pages {
	from, err := strconv.Atoi(r.URL.Query().Get("from"))
	if err != nil || from < 0 {
		from = 0
	}
	return pages{From: from}
}

// pageRows is the number of rows of a page.
const pageRows = 100

func (p pages) newer() string {
	if p.From == 0 {
		return ""
	}
	return "?from=" + strconv.Itoa(max(0, p.From-pageRows))
}

func (p pages) older() string {
	if p.From+p.Shown >= p.Total {
		return ""
	}
	return "?from=" + strconv.Itoa(p.From+p.Shown)
}

// matches reports whether one of the texts contains the word.
func matches(word string, texts ...string) bool {
	word = strings.ToLower(strings.TrimSpace(word))
	return word == "" || strings.Contains(strings.ToLower(strings.Join(texts, "\n")), word)
}
