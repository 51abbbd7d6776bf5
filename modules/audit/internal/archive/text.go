package archive

import (
	_ "embed"
	"strings"
)

// The versions of the libraries that the text names. This module is built with the same versions.
const (
	merkleVersion = "v0.0.2"
	modVersion    = "v0.42.0"
)

//go:embed verify.txt.tmpl
var instructions string

// Instructions returns VERIFY.txt, which is both a text and a shell script with the commands to run. A step begins
// with a line "## step <name>: ".
func Instructions(h Head) string {
	var b strings.Builder
	b.WriteString(strings.NewReplacer("@MERKLE", "@"+merkleVersion, "@MOD", "@"+modVersion).Replace(instructions))
	for _, a := range h.Anchors {
		if len(a.Token) == 0 {
			continue
		}
		name := "anchors/" + a.ID
		b.WriteString("\n## step time-" + a.ID +
			": an authority saw an earlier head; put the certificate that you trust it by into tsa.pem\n" +
			"openssl ts -verify -data " + name + ".note -in " + name + ".tsr -CAfile tsa.pem\n")
	}
	for _, r := range h.Remarks {
		b.WriteString("\n# " + r + "\n")
	}
	return b.String()
}
