package ec2

import "net/http"

func (c *Cloud) servePricing(w http.ResponseWriter, r *http.Request, body []byte, target string) {
	http.Error(w, "later", 500)
}
