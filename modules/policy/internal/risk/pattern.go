package risk

import (
	"math/bits"
	"strings"
	"sync"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

// Bounds of the work for one command. A command beyond them has a rule of its own.
const (
	maxRead    = 32 << 10 // bytes of the command
	maxMatched = 64 << 10 // bytes that expressions read, each for itself
)

// pattern finds a kind of command, in lower case. Its expression is matched with those lines of a command that have one
// of its words, so that it costs nothing for all others.
type pattern struct {
	words []string
	text  *lazyregexp.Regexp
}

// named has the patterns of each word, as bits.
var named = sync.OnceValue(func() map[string]uint32 {
	out := make(map[string]uint32)
	for i := range patterns {
		for _, word := range patterns[i].words {
			out[word] |= 1 << i
		}
	}
	return out
})

func calls(p int) func(x *facts) bool {
	return func(x *facts) bool { return x.found&(1<<p) != 0 }
}

// find returns the patterns that a command matches, and unread for a command beyond the bounds. A line is matched
// together with the one after it, since a pipe may end a line, and with those that continue it.
func find(command string) uint32 {
	text := strings.ToLower(command[:min(len(command), maxRead)])
	var found, before uint32
	if len(command) > maxRead {
		found = 1 << unread
	}
	left := maxMatched
	for begin, at := 0, 0; at < len(text); {
		end := lineEnd(text, at)
		here := namedIn(text[at:end])
		for open := (here | before) &^ found; open != 0; open &= open - 1 {
			i := bits.TrailingZeros32(open)
			if left -= end - begin; left < 0 {
				return found | 1<<unread
			}
			if patterns[i].text.MatchString(strings.ReplaceAll(text[begin:end], "\\\n", " ")) {
				found |= 1 << i
			}
		}
		begin, at, before = at, end+1, here
	}
	return found
}

// namedIn returns the patterns that have a word of a text.
func namedIn(text string) uint32 {
	var out uint32
	for at := 0; at < len(text); at++ {
		begin := at
		for at < len(text) && letter(text[at]) {
			at++
		}
		if begin < at {
			out |= named()[text[begin:at]]
		}
	}
	return out
}

func letter(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '_' }

// lineEnd returns where the line at a place ends, with the lines that continue it.
func lineEnd(text string, at int) int {
	for at < len(text) {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			break
		}
		at += n
		if at == 0 || text[at-1] != '\\' {
			return at
		}
		at++
	}
	return len(text)
}
