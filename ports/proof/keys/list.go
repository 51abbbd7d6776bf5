package keys

// MarshalKeys returns a list of keys in the canonical form of seal.json. Fault: FormatInvalid for keys that cannot
// form a ring.
func MarshalKeys(list []Key) ([]byte, error) {
	if err := checkList(list); err != nil {
		return nil, err
	}
	return Encode(toWire(Seal{Keys: list}).Keys)
}

// ParseKeys reads the output of MarshalKeys and nothing else. It verifies no signature. Fault: FormatInvalid.
func ParseKeys(data []byte) ([]Key, error) {
	if len(data) > maxSeal {
		return nil, FormatInvalid.New("a list of keys has at most %d bytes", maxSeal)
	}
	var wire []wireKey
	if err := Decode(data, &wire); err != nil {
		return nil, err
	}
	list := make([]Key, 0, min(len(wire), maxKeys))
	for _, w := range wire {
		k, err := w.key()
		if err != nil {
			return nil, err
		}
		list = append(list, k)
	}
	return list, checkList(list)
}

func checkList(list []Key) error {
	seen := make(map[string]bool, len(list))
	for _, k := range list {
		if seen[k.ID] || k.NotBefore.IsZero() || len(k.Handover) > maxText {
			return FormatInvalid.New("a key is listed twice, has no time or has an invalid handover")
		}
		seen[k.ID] = true
	}
	if len(list) == 0 {
		return FormatInvalid.New("the list has no key")
	}
	_, err := NewRing(list...)
	return err
}
