package disclosure

import "slices"

// Matched is the result of matching a leaf's digests with disclosures.
type Matched struct {
	Open    []Disclosure // in the order of the list
	Missing []string     // digests without a disclosure: erased or withheld
}

// Match compares encoded disclosures with the digests of a leaf. It fails with an *Error if one cannot be read, is not
// in the list (an altered one never is), occurs twice or is a second value of a name that a leaf has once.
func Match(sd, encoded []string) (Matched, error) {
	found := make(map[string]Disclosure, len(encoded))
	names := make(map[Name]bool, len(encoded))
	for _, text := range encoded {
		d, err := Parse(text)
		if err != nil {
			return Matched{}, err
		}
		digest := Digest(text)
		if _, ok := found[digest]; ok {
			return Matched{}, refuse(CodeTwice)
		}
		if !slices.Contains(sd, digest) {
			return Matched{}, refuse(CodeMismatch)
		}
		if names[d.Name] && d.Name != Host {
			return Matched{}, refuse(CodeNameTwice)
		}
		found[digest], names[d.Name] = d, true
	}
	var m Matched
	for _, digest := range sd {
		if d, ok := found[digest]; ok {
			m.Open = append(m.Open, d)
		} else {
			m.Missing = append(m.Missing, digest)
		}
	}
	return m, nil
}
