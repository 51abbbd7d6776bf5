package keys

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// maxOrigin bounds an origin, which is in each checkpoint, signature line and pin.
const maxOrigin = 200

// Origin returns the name of the log of one install in one epoch: the public host or site name, "audit", the install's
// id and the epoch. Fault: FormatInvalid if the parts make no valid origin.
func Origin(site, installID string, epoch int64) (string, error) {
	if strings.Contains(site, "/") || strings.Contains(installID, "/") {
		return "", FormatInvalid.New("a site name and an install id have no slash")
	}
	made := site + "/audit/" + installID + "/e" + strconv.FormatInt(epoch, 10)
	if err := CheckOrigin(made); err != nil {
		return "", err
	}
	_, err := EpochOf(made)
	return made, err
}

// CheckOrigin checks the first line of a checkpoint and the name of a key: segments of printable ASCII without scheme,
// space and plus, which are separators in the text forms.
func CheckOrigin(origin string) error {
	if len(origin) > maxOrigin {
		return FormatInvalid.New("the origin is longer than %d bytes", maxOrigin)
	}
	for i := range len(origin) {
		if c := origin[i]; c <= ' ' || c >= 0x7f || c == '+' {
			return FormatInvalid.New("the origin has a character other than printable ASCII without space and plus")
		}
	}
	segments := strings.Split(origin, "/")
	if len(segments) < 2 {
		return FormatInvalid.New("the origin has no path after its host")
	}
	for _, s := range segments {
		if s == "" || s == "." || s == ".." {
			return FormatInvalid.New("the origin has a scheme or an empty segment")
		}
	}
	return nil
}

// EpochOf returns the epoch at the end of an origin.
func EpochOf(origin string) (int64, error) {
	last := origin[strings.LastIndexByte(origin, '/')+1:]
	digits, ok := strings.CutPrefix(last, "e")
	n, err := ParseSize(digits)
	if !ok || err != nil || n == 0 {
		return 0, FormatInvalid.New("the origin does not end in an epoch")
	}
	return n, nil
}

// ParseSize reads a tree size in text forms: decimal, no sign, no leading zero, at most MaxInteger.
func ParseSize(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > MaxInteger || strconv.FormatInt(n, 10) != s {
		return 0, FormatInvalid.New("a size is not a plain decimal number")
	}
	return n, nil
}

// Base64 decodes standard base64 with padding and refuses alternative spellings: line breaks and unused bits.
func Base64(s string) ([]byte, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || base64.StdEncoding.EncodeToString(raw) != s {
		return nil, FormatInvalid.New("a text is not standard base64")
	}
	return raw, nil
}

// ParseRoot decodes the base64 of a root.
func ParseRoot(s string) (root [32]byte, err error) {
	raw, err := Base64(s)
	if err != nil || len(raw) != len(root) {
		return root, FormatInvalid.New("a root is the base64 of %d bytes", len(root))
	}
	return [32]byte(raw), nil
}
