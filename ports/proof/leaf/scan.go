package leaf

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/proof/jcs"
)

// Scan reads a leaf. It accepts exactly the bytes that AppendTo writes for the returned leaf; everything else is an
// *Error. It reads the bytes once, and the result does not share them.
func Scan(b []byte) (Leaf, error) {
	if len(b) > MaxSize {
		return Leaf{}, &Error{Code: CodeSize, At: MaxSize}
	}
	return ScanText(string(b)) // the only copy
}

// ScanText reads a leaf like Scan. The returned texts share the memory of its argument.
func ScanText(text string) (Leaf, error) {
	if len(text) > MaxSize {
		return Leaf{}, &Error{Code: CodeSize, At: MaxSize}
	}
	var l Leaf
	s := scanner{s: text}
	s.text(&l.Act, &keyAct, isAct)
	s.text(&l.At, &keyAt, isAt)
	s.text(&l.Det, &keyDet, isDet)
	s.text(&l.ID, &keyID, isID)
	s.text(&l.Met, &keyMet, isMet)
	s.text(&l.Obj, &keyObj, isObj)
	s.text(&l.Out, &keyOut, isOut)
	s.prev(&l.Prev)
	s.text(&l.Req, &keyReq, isAny)
	s.text(&l.Run, &keyRun, isAny)
	s.digests(&l.SD)
	s.seq(&l.Seq)
	s.text(&l.Sub, &keySub, isAny)
	s.version()
	s.end()
	if s.err != nil {
		return Leaf{}, s.err
	}
	return l, nil
}

// scanner reads the text key by key. After the first error it does nothing.
type scanner struct {
	s    string
	at   int
	seen uint16 // a bit for each rank
	err  *Error
}

func (s *scanner) fail(code Code, name string, at int) {
	if s.err == nil {
		s.err = &Error{Code: code, Key: name, At: at}
	}
}

// enter skips the lead of k and reports whether it was present.
func (s *scanner) enter(k *key) bool {
	if s.err != nil {
		return false
	}
	if !strings.HasPrefix(s.s[s.at:], k.lead) {
		if !k.optional {
			s.explain(k.rank)
		}
		return false
	}
	s.at += len(k.lead)
	s.seen |= 1 << k.rank
	return true
}

// quoted reads the string value of k.
func (s *scanner) quoted(k *key) (text string, ok bool) {
	text, next, flaw := jcs.Scan(s.s, s.at)
	if flaw != jcs.None {
		s.flawed(flaw, k.name, next)
		return "", false
	}
	s.at = next
	return text, true
}

func (s *scanner) flawed(flaw jcs.Flaw, name string, at int) {
	if flaw == jcs.Syntax && s.space(at) {
		s.fail(CodeSpace, name, at)
		return
	}
	s.fail(Code(flaw), name, at)
}

func (s *scanner) text(to *string, k *key, valid form) {
	if !s.enter(k) {
		return
	}
	from := s.at
	text, ok := s.quoted(k)
	if !ok {
		return
	}
	if text == "" || !valid(text) {
		s.fail(CodeForm, k.name, from)
		return
	}
	*to = text
}

func (s *scanner) prev(to *[32]byte) {
	if !s.enter(&keyPrev) {
		return
	}
	const quoted = 46
	from := s.at
	if rest := s.s[from:]; len(rest) >= quoted && rest[0] == '"' && rest[quoted-1] == '"' {
		// The library ignores line breaks, so 44 characters may be fewer than 32 bytes.
		var text [quoted - 2]byte
		var sum [33]byte
		copy(text[:], rest[1:])
		if n, err := base64.StdEncoding.Strict().Decode(sum[:], text[:]); err == nil && n == len(to) {
			*to = [32]byte(sum[:])
			s.at += quoted
			return
		}
	}
	if _, ok := s.quoted(&keyPrev); ok {
		s.fail(CodeForm, keyPrev.name, from)
	}
}

func (s *scanner) digests(to *[]string) {
	if !s.enter(&keySD) {
		return
	}
	from := s.at
	if !s.token('[', &keySD) {
		return
	}
	if s.at < len(s.s) && s.s[s.at] == ']' {
		s.fail(CodeForm, keySD.name, from)
		return
	}
	// Each digest takes 46 bytes, so the capacity never exceeds what the text can hold.
	list := make([]string, 0, min(8, 1+(len(s.s)-s.at)/46))
	for {
		at := s.at
		d, plain := s.digest()
		if !plain {
			var ok bool
			if d, ok = s.quoted(&keySD); !ok {
				return
			}
		}
		if !plain && !isDigest(d) || len(list) > 0 && list[len(list)-1] >= d {
			s.fail(CodeForm, keySD.name, at)
			return
		}
		list = append(list, d)
		if s.at < len(s.s) && s.s[s.at] == ',' {
			s.at++
			continue
		}
		if s.token(']', &keySD) {
			*to = list
		}
		return
	}
}

// digest reads a digest of the list at once if it has the right form, without a second look at its characters.
func (s *scanner) digest() (d string, ok bool) {
	const quoted = 45
	if rest := s.s[s.at:]; len(rest) >= quoted && rest[0] == '"' && rest[quoted-1] == '"' && isDigest(rest[1:quoted-1]) {
		s.at += quoted
		return rest[1 : quoted-1], true
	}
	return "", false
}

// token skips one required character.
func (s *scanner) token(c byte, k *key) bool {
	if s.at < len(s.s) && s.s[s.at] == c {
		s.at++
		return true
	}
	s.flawed(jcs.Syntax, k.name, s.at)
	return false
}

func (s *scanner) seq(to *int64) {
	if !s.enter(&keySeq) {
		return
	}
	from := s.at
	n, ok := s.integer(&keySeq)
	if ok && n < 1 {
		s.fail(CodeRange, keySeq.name, from)
		return
	}
	*to = n
}

func (s *scanner) version() {
	if !s.enter(&keyV) {
		return
	}
	from := s.at
	if n, ok := s.integer(&keyV); ok && n != Version {
		s.fail(CodeVersion, keyV.name, from)
	}
}

// integer reads plain digits up to MaxInt. It distinguishes a number in another form from a value that is not a
// number.
func (s *scanner) integer(k *key) (int64, bool) {
	from, n := s.at, int64(0)
	for s.at < len(s.s) && s.s[s.at] >= '0' && s.s[s.at] <= '9' {
		if n <= MaxInt {
			n = n*10 + int64(s.s[s.at]-'0')
		}
		s.at++
	}
	rest := s.s[s.at:]
	switch {
	case s.at == from && !strings.HasPrefix(rest, "-"):
		s.flawed(jcs.Syntax, k.name, from)
	case s.at == from, s.at-from > 1 && s.s[from] == '0', rest != "" && strings.IndexByte(".eE", rest[0]) >= 0:
		s.fail(CodeNumber, k.name, from)
	case n > MaxInt:
		s.fail(CodeRange, k.name, from)
	default:
		return n, true
	}
	return 0, false
}

func (s *scanner) end() {
	if s.err == nil && s.s[s.at:] != "}" {
		s.explain(len(names))
	}
}

func (s *scanner) space(at int) bool {
	return at < len(s.s) && strings.IndexByte(" \t\n\r", s.s[at]) >= 0
}

// explain finds the flaw at the place of a required key of this rank, or of the end of the leaf.
func (s *scanner) explain(rank int) {
	lead, want := byte(','), ""
	if rank == 0 {
		lead = '{'
	}
	if rank < len(names) {
		want = names[rank]
	}
	at := s.at
	switch {
	case at < len(s.s) && s.s[at] == '}' && rank > 0 && want != "", strings.HasPrefix(s.s[at:], "{}") && rank == 0:
		s.fail(CodeKeyMissing, want, at)
		return
	case at < len(s.s) && s.s[at] == '}' && want == "":
		s.fail(CodeTrailing, "", at+1)
		return
	case at >= len(s.s) || s.s[at] != lead:
		s.flawed(jcs.Syntax, "", at)
		return
	}
	name, next, flaw := jcs.Scan(s.s, at+1)
	if flaw != jcs.None {
		s.flawed(flaw, "", next)
		return
	}
	found := slices.Index(names, name)
	switch {
	case found < 0:
		s.fail(CodeKeyUnknown, "", at+1)
	case s.seen&(1<<found) != 0:
		s.fail(CodeKeyTwice, name, at+1)
	case s.seen>>(found+1) != 0:
		s.fail(CodeKeyOrder, name, at+1)
	case found > rank:
		s.fail(CodeKeyMissing, want, at+1)
	default: // the key itself is right, so the colon is missing
		s.flawed(jcs.Syntax, name, next)
	}
}
