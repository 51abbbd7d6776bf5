package awssm

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// maxText bounds a member of a config, in bytes.
const maxText = 4 << 10

// Config of the engine.
type Config struct {
	// Policy decides which addresses may be dialled; egress.PrivateAllowed reaches private endpoints. Requests for the
	// server's own identity may also reach the metadata addresses of AWS.
	Policy egress.Policy
	// Options are those of the connections. An answer is at most 1 MiB, whatever they contain.
	Options egress.Options
	// Endpoint is the address of the service. Empty is the address of the region, or that of AWS_ENDPOINT_URL.
	Endpoint string
}

// These are the forms of names at AWS. A region becomes part of a host name.
var (
	regionName = lazyregexp.New(`^[a-z]{2,4}(-[a-z]{2,12}){1,3}-[0-9]{1,2}$`)
	keyID      = lazyregexp.New(`^[A-Za-z0-9_]{1,128}$`)
)

// source is a config that was checked.
type source struct {
	region, secret, field string
	keyID, key            string
}

func bad(field, message string) error { return &extension.ConfigError{Field: field, Message: message} }

// text returns a member that is one line of text, or "" if the config does not have it.
func text(config map[string]any, name string) (string, error) {
	v, ok := config[name].(string)
	switch {
	case config[name] == nil:
		return "", nil
	case !ok:
		return "", bad(name, "has to be a text")
	case len(v) > maxText || !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl):
		return "", bad(name, "has to be one line of text")
	}
	return v, nil
}

// parse checks a config.
func parse(config map[string]any) (source, error) {
	var out source
	for _, m := range []struct {
		name string
		to   *string
	}{
		{"region", &out.region}, {"secret_id", &out.secret}, {"field", &out.field}, {"access_key_id", &out.keyID},
		{"secret_access_key", &out.key},
	} {
		var err error
		if *m.to, err = text(config, m.name); err != nil {
			return source{}, err
		}
	}
	switch {
	case strings.TrimSpace(out.secret) == "":
		return source{}, bad("secret_id", "is required")
	case len(out.secret) > 2048:
		return source{}, bad("secret_id", "is too long")
	case out.region != "" && !regionName.MatchString(out.region):
		return source{}, bad("region", "has to be the name of a region")
	case out.keyID != "" && !keyID.MatchString(out.keyID):
		return source{}, bad("access_key_id", "has to be the id of an access key")
	case out.keyID == "" && out.key != "":
		return source{}, bad("access_key_id", "is required with secret_access_key")
	case out.keyID != "" && out.key == "":
		return source{}, bad("secret_access_key", "is required with access_key_id")
	}
	return out, nil
}
