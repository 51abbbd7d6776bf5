package record

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/jcs"
)

const (
	// maxDetail bounds a document of details in bytes.
	maxDetail = 1 << 20
	// The members that are added to a document. Callers may not set them.
	memberSalt    = "salt"
	memberEntries = "entries"
)

type digest = [sha256.Size]byte

func hashText(d digest) string {
	var b [7 + 2*len(d)]byte
	copy(b[:], "sha256:")
	hex.Encode(b[7:], d[:])
	return string(b[:])
}

// detailHash returns the digest of a document for the leaf.
func detailHash(doc string) string { return hashText(sha256.Sum256([]byte(doc))) }

// saltedDetail returns the canonical document with a salt, which prevents guessing the contents after an erasure.
func saltedDetail(members map[string]any) (string, error) {
	var salt [16]byte
	if _, err := rand.Read(salt[:]); err != nil {
		return "", audit.Unrecorded.New("an entry has no salt").Because(err)
	}
	var text [22]byte
	base64.RawURLEncoding.Encode(text[:], salt[:])
	return document(members, memberSalt, string(text[:]))
}

// finalDetail returns the canonical document of the end of a run, with the number of the run's earlier entries and the
// digest over them.
func finalDetail(members map[string]any, count int, entries digest) (string, error) {
	return document(members, memberEntries, map[string]any{"count": count, "digest": hashText(entries)})
}

// document encodes the members and one more, which must not be among them.
func document(members map[string]any, name string, extra any) (string, error) {
	for _, reserved := range []string{memberSalt, memberEntries} {
		if _, ok := members[reserved]; ok && (reserved == name || reserved == memberSalt) {
			return "", wrong("the details of an entry have a member %s of their own", reserved)
		}
	}
	all := make(map[string]any, len(members)+1)
	maps.Copy(all, members)
	all[name] = extra
	b, err := jcs.Form{Text: mended, Bytes: maxDetail}.Append(make([]byte, 0, 64+48*len(all)), all)
	switch {
	case err != nil:
		return "", wrong("the details of an entry: %v", err)
	case len(b) > maxDetail:
		return "", wrong("the details of an entry have more than %d bytes", maxDetail)
	}
	return string(b), nil
}
