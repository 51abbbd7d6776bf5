package leaf

import (
	"encoding/base64"
	"strconv"

	"github.com/writ-automation/writ/ports/proof/jcs"
)

// AppendTo appends the canonical bytes of the leaf to b. An invalid leaf is an *Error, and b is returned unchanged.
func (l *Leaf) AppendTo(b []byte) ([]byte, error) {
	w := writer{b: b}
	w.text(keyAct, l.Act, isAct)
	w.text(keyAt, l.At, isAt)
	w.text(keyDet, l.Det, isDet)
	w.text(keyID, l.ID, isID)
	w.text(keyMet, l.Met, isMet)
	w.text(keyObj, l.Obj, isObj)
	w.text(keyOut, l.Out, isOut)
	w.b = append(w.b, keyPrev.lead...)
	w.b = append(w.b, '"')
	w.b = base64.StdEncoding.AppendEncode(w.b, l.Prev[:])
	w.b = append(w.b, '"')
	w.text(keyReq, l.Req, isAny)
	w.text(keyRun, l.Run, isAny)
	w.digests(l.SD)
	w.seq(l.Seq)
	w.text(keySub, l.Sub, isAny)
	w.b = append(w.b, keyV.lead...)
	w.b = append(w.b, '0'+Version, '}')
	if w.err == nil && len(w.b)-len(b) > MaxSize {
		w.err = &Error{Code: CodeSize}
	}
	if w.err != nil {
		return b, w.err
	}
	return w.b, nil
}

// writer keeps the first error and continues.
type writer struct {
	b   []byte
	err *Error
}

func (w *writer) fail(k key, code Code) {
	if w.err == nil {
		w.err = &Error{Code: code, Key: k.name}
	}
}

func (w *writer) text(k key, s string, valid form) {
	if s == "" {
		if !k.optional {
			w.fail(k, CodeKeyMissing)
		}
		return
	}
	if len(s) > MaxSize {
		w.fail(k, CodeSize)
		return
	}
	w.b = append(w.b, k.lead...)
	b, flaw := jcs.Append(w.b, s)
	switch {
	case flaw != jcs.None:
		w.fail(k, Code(flaw))
	case !valid(s):
		w.fail(k, CodeForm)
	}
	w.b = b
}

func (w *writer) digests(sd []string) {
	for i, d := range sd {
		if !isDigest(d) || i > 0 && sd[i-1] >= d {
			w.fail(keySD, CodeForm)
			return
		}
		if i == 0 {
			w.b = append(w.b, keySD.lead...)
			w.b = append(w.b, '[', '"')
		} else {
			w.b = append(w.b, ',', '"')
		}
		w.b = append(w.b, d...)
		w.b = append(w.b, '"')
	}
	if len(sd) > 0 {
		w.b = append(w.b, ']')
	}
}

func (w *writer) seq(n int64) {
	if n < 1 || n > MaxInt {
		w.fail(keySeq, CodeRange)
	}
	w.b = append(w.b, keySeq.lead...)
	w.b = strconv.AppendInt(w.b, n, 10)
}
