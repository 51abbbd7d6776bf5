// Package lazyregexp has regular expressions that are compiled when they are first used, so that a package with many of
// them costs nothing at the start of a process.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression that is compiled at its first use. It is safe for concurrent use, and must not be
// copied.
type Regexp struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

// New returns the expression of a constant text. It is so small that the compiler lays out a variable that it
// initialises, and nothing runs at the start.
func New(text string) *Regexp { return &Regexp{text: text} }

// Get returns the compiled expression. It panics if the text is none.
func (r *Regexp) Get() *regexp.Regexp {
	r.once.Do(func() { r.compiled = regexp.MustCompile(r.text) })
	return r.compiled
}

// MatchString reports whether the text contains a match.
func (r *Regexp) MatchString(s string) bool { return r.Get().MatchString(s) }

// FindStringSubmatch returns the leftmost match and those of its groups, or nil.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.Get().FindStringSubmatch(s) }

// ReplaceAllString returns src with each match replaced by repl, in which $1 is the match of a group.
func (r *Regexp) ReplaceAllString(src, repl string) string {
	return r.Get().ReplaceAllString(src, repl)
}
