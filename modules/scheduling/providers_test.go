package scheduling_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"

	"github.com/writ-automation/writ/ports/scheduling"
)

const (
	sha1   = "59b20b8d5c6ff8d09518454d4dd8b7b30f095ab5"
	sha2   = "0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c"
	nobody = "0000000000000000000000000000000000000000"
)

// The bodies have the fields and the nesting that the forges document for their events.
const (
	githubPush = `{"ref":"refs/heads/main","before":"` + sha2 + `","after":"` + sha1 +
		`","created":false,"deleted":false,"forced":false,
		"base_ref":null,"compare":"https://github.example/octo/site/compare/0d1a26e67d8f...59b20b8d5c6f",
		"commits":[{"id":"` + sha1 +
		`","message":"Fix {{ lookup('pipe', 'id') }}","author":{"name":"Mona","email":"mona@example.org"},"added":[],"removed":[],"modified":["a b.txt"]}],
		"head_commit":{"id":"` + sha1 + `","message":"Fix"},
		"repository":{"id":186853002,"name":"site","full_name":"octo/site","private":false,"owner":{"name":"octo","login":"octo"},"clone_url":"https://github.example/octo/site.git","pushed_at":1557933565},
		"pusher":{"name":"mona","email":"mona@example.org"},"sender":{"login":"mona","id":21031067,"type":"User"}}`
	githubTag = `{"ref":"refs/tags/v1.2.3","before":"` + nobody + `","after":"` + sha2 + `","created":true,"deleted":false,
		"head_commit":{"id":"` + sha1 +
		`"},"repository":{"full_name":"octo/site"},"pusher":{"name":"mona"},"sender":{"login":"mona"}}`
	githubDeleted = `{"ref":"refs/heads/main","before":"` + sha1 + `","after":"` + nobody +
		`","created":false,"deleted":true,"head_commit":null,"commits":[],
		"repository":{"full_name":"octo/site"},"pusher":{"name":"mona"},"sender":{"login":"mona"}}`
	githubPing = `{"zen":"Keep it logically awesome.","hook_id":30,"hook":{"type":"Repository","id":30,"events":["push"],"config":{"content_type":"json"}},
		"repository":{"full_name":"octo/site"},"sender":{"login":"mona"}}`
	githubPull = `{"action":"synchronize","number":2,"before":"` + sha2 + `","after":"` + sha1 + `",
		"pull_request":{"number":2,"head":{"label":"octo:topic","ref":"topic/x","sha":"` + sha1 +
		`"},"base":{"label":"octo:main","ref":"main","sha":"` + sha2 + `"},"merged":false},
		"repository":{"full_name":"octo/site"},"sender":{"login":"mona"}}`
	githubRelease = `{"action":"published","release":{"tag_name":"v1"},"repository":{"full_name":"octo/site"},"sender":{"login":"mona"}}`
	giteaPush     = `{"ref":"refs/heads/develop","before":"` + sha2 + `","after":"` + sha1 +
		`","compare_url":"http://gitea.example/org/webhooks/compare/a...b",
		"commits":[{"id":"` + sha1 +
		`","message":"Webhooks Yay!","timestamp":"2017-03-13T13:52:11-04:00"}],"total_commits":1,"head_commit":{"id":"` +
		sha1 + `"},
		"repository":{"id":140,"owner":{"id":1,"login":"gitea","username":"gitea"},"name":"webhooks","full_name":"gitea/webhooks"},
		"pusher":{"id":1,"login":"ada","full_name":"Ada","username":"ada"},"sender":{"id":1,"login":"ada","username":"ada"}}`
	giteaPull = `{"action":"opened","number":1,"pull_request":{"id":1,"head":{"label":"topic","ref":"topic","sha":"` +
		sha1 + `","repo_id":1},
		"base":{"label":"develop","ref":"develop","sha":"` + sha2 +
		`"}},"repository":{"full_name":"gitea/webhooks"},"sender":{"login":"ada"}}`
	gitlabPush = `{"object_kind":"push","event_name":"push","before":"` + sha2 + `","after":"` + sha1 +
		`","ref":"refs/heads/master","ref_protected":true,
		"checkout_sha":"` + sha1 +
		`","user_id":4,"user_name":"John Smith","user_username":"jsmith","user_email":"","project_id":15,
		"project":{"id":15,"name":"Diaspora","path_with_namespace":"mike/diaspora","default_branch":"master"},
		"repository":{"name":"Diaspora","url":"git@example.com:mike/diaspora.git","homepage":"http://example.com/mike/diaspora"},"commits":[],"total_commits_count":4}`
	gitlabTag = `{"object_kind":"tag_push","event_name":"tag_push","before":"` + nobody + `","after":"` + sha2 +
		`","ref":"refs/tags/v1.0.0",
		"checkout_sha":"` + sha1 +
		`","user_name":"John Smith","user_username":"jsmith","project":{"path_with_namespace":"jsmith/example"},"repository":{"name":"Example"}}`
	gitlabMerge = `{"object_kind":"merge_request","event_type":"merge_request","user":{"id":1,"name":"Administrator","username":"root"},
		"project":{"id":1,"path_with_namespace":"gitlabhq/gitlab-test"},"repository":{"name":"Gitlab Test"},
		"object_attributes":{"id":99,"iid":1,"target_branch":"master","source_branch":"ms-viewport","last_commit":{
		"id":"` + sha1 + `","message":"fixed readme"},"action":"open"}}`
	gitlabDeleted = `{"object_kind":"push","event_name":"push","before":"` + sha1 + `","after":"` + nobody +
		`","ref":"refs/heads/master","checkout_sha":null,
		"user_username":"jsmith","project":{"path_with_namespace":"mike/diaspora"}}`
	gitlabSystem = `{"event_name":"project_create","name":"StoreCloud","path":"storecloud","path_with_namespace":"jsmith/storecloud","project_id":74}`
)

// deliver returns a delivery from pairs of headers and values.
func deliver(t scheduling.NewTrigger, body string, headers ...string) scheduling.Delivery {
	d := scheduling.Delivery{Token: t.Token.Reveal(), Body: []byte(body), Header: map[string][]string{}}
	d.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] != "" {
			d.Header.Set(headers[i], headers[i+1])
		}
	}
	return d
}

func mac(secret, body string) string {
	m := hmac.New(sha256.New, []byte(secret))
	_, _ = m.Write([]byte(body))
	return hex.EncodeToString(m.Sum(nil))
}

func fromGitHub(t scheduling.NewTrigger, event, body, delivery string) scheduling.Delivery {
	return deliver(t, body, "X-GitHub-Event", event, "X-GitHub-Delivery", delivery, "X-GitHub-Hook-ID", "292430182",
		"User-Agent", "GitHub-Hookshot/044aadd",
		"X-Hub-Signature", "sha1=7d38cdd689735b008b3c702edd92eea23791c5f6", "X-Hub-Signature-256",
		"sha256="+mac(t.SigningSecret.Reveal(), body))
}

// github returns a push with a delivery id.
func github(t scheduling.NewTrigger, delivery string) scheduling.Delivery {
	return fromGitHub(t, "push", githubPush, delivery)
}

func githubForm(t scheduling.NewTrigger, event, body, delivery string) scheduling.Delivery {
	d := fromGitHub(t, event, "payload="+url.QueryEscape(body), delivery)
	d.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return d
}

func fromGitea(t scheduling.NewTrigger, event, body, delivery string) scheduling.Delivery {
	sum := mac(t.SigningSecret.Reveal(), body)
	return deliver(t, body, "X-Gitea-Event", event, "X-Gitea-Event-Type", event, "X-Gitea-Delivery", delivery,
		"X-Gitea-Signature", sum,
		"X-Gogs-Event", event, "X-Gogs-Delivery", delivery, "X-Gogs-Signature", sum,
		"X-GitHub-Event", event, "X-GitHub-Delivery", delivery, "X-Hub-Signature", "sha1=00", "X-Hub-Signature-256",
		"sha256="+sum)
}

func fromForgejo(t scheduling.NewTrigger, event, body, delivery string) scheduling.Delivery {
	d := fromGitea(t, event, body, delivery)
	d.Header.Set("X-Forgejo-Event", event)
	d.Header.Set("X-Forgejo-Delivery", delivery)
	d.Header.Set("X-Forgejo-Signature", mac(t.SigningSecret.Reveal(), body))
	return d
}

func fromGitLab(t scheduling.NewTrigger, event, body, delivery string) scheduling.Delivery {
	return deliver(t, body, "X-Gitlab-Event", event, "X-Gitlab-Event-UUID", delivery, "X-Gitlab-Webhook-UUID",
		"02affd2d-2cba-4033-917d-ec22d5dc4b38",
		"X-Gitlab-Instance", "https://gitlab.example", "X-Gitlab-Token", t.SigningSecret.Reveal(), "User-Agent",
		"GitLab/15.5.0-pre")
}

// with replaces a part of a body.
func with(body, old, now string) string { return strings.ReplaceAll(body, old, now) }
