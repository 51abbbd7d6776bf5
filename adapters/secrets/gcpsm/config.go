package gcpsm

import (
	"math"
	"strconv"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/secret"
)

// Config of the engine.
type Config struct {
	// Policy decides which addresses may be dialled; egress.PrivateAllowed reaches private endpoints. Requests for the
	// server's own account may also reach the metadata server.
	Policy egress.Policy
	// Options are those of the connections. An answer is at most 1 MiB, whatever they contain.
	Options egress.Options
	// Endpoint is the base address of the API; empty is Google's.
	Endpoint string
	// Credentials is the text of a credentials file. Empty uses the server's own credentials.
	Credentials secret.Text
}

// These are the forms of names at Google. A version is a number or an alias, such as latest.
var (
	projectID   = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9.:-]{0,99}$`)
	secretID    = lazyregexp.New(`^[A-Za-z0-9_-]{1,255}$`)
	versionName = lazyregexp.New(`^([1-9][0-9]{0,18}|[A-Za-z][A-Za-z0-9_-]{0,62})$`)
)

func bad(field, message string) error { return &extension.ConfigError{Field: field, Message: message} }

// resource checks a config and returns the name of the version that it means.
func resource(config map[string]any) (string, error) {
	for _, m := range []struct {
		name string
		form *lazyregexp.Regexp
		want string
	}{{"project", projectID, "has to be the id or the number of a project"},
		{"secret", secretID, "has to be a name of letters, digits, - and _"}} {
		v, ok := config[m.name].(string)
		switch {
		case config[m.name] == nil || ok && v == "":
			return "", bad(m.name, "is required")
		case !ok || !m.form.MatchString(v):
			return "", bad(m.name, m.want)
		}
	}
	version, ok := versionOf(config["version"])
	if !ok {
		return "", bad("version", "has to be the number or the alias of a version")
	}
	return "projects/" + config["project"].(string) + "/secrets/" + config["secret"].(string) + "/versions/" + version, nil
}

// versionOf reads a version. The default is the latest.
func versionOf(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "latest", true
	case string:
		return orLatest(v), v == "" || versionName.MatchString(v)
	case int:
		return strconv.Itoa(v), v > 0
	case float64:
		return strconv.FormatFloat(v, 'f', 0, 64), v > 0 && v < 1<<53 && v == math.Trunc(v)
	default:
		return "", false
	}
}

func orLatest(v string) string {
	if v == "" {
		return "latest"
	}
	return v
}
