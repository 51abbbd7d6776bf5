package notify

import "time"

// The limits of an embed, as Discord publishes them. All texts of one together may have 6000 characters.
const (
	discordTitle = 256
	discordValue = 1024
)

// discordBody is a message with one embed and without mentions.
func discordBody(r report) object {
	list := []object{}
	for _, f := range r.facts {
		list = append(list, object{"name": f.label, "value": f.in(discordValue, forDiscord), "inline": !f.long()})
	}
	embed := object{"title": truncate(r.title, discordTitle, forDiscord), "color": r.tone.rgb(), "fields": list,
		"footer": object{"text": "Writ"}}
	if at := r.when(); !at.IsZero() {
		embed["timestamp"] = at.UTC().Format(time.RFC3339)
	}
	return object{"embeds": []object{embed}, "allowed_mentions": object{"parse": []string{}}}
}
