package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
	"golang.org/x/crypto/scrypt"
)

// What the chat workloads find (WORKLOADS.md): user-001 to user-100, each with a session that has joined all rooms; room-01
// to room-20, each with a hundred messages.
const (
	users    = 100
	rooms    = 20
	messages = 100
	password = "open sesame"
	// When the first message of each room was sent, in milliseconds of Unix time.
	firstMessage = int64(1_500_000_000_000)
)

func fill(ctx context.Context) error {
	client, err := mongo.Connect(ctx, options.Client().ApplyURI("mongodb://"+filling+"/"))
	if err != nil {
		return err
	}
	defer client.Disconnect(ctx)
	hash, err := hashed(password)
	if err != nil {
		return err
	}
	chat := client.Database("chat")
	if err := fillRooms(ctx, chat, hash); err != nil {
		return err
	}
	return fillUsers(ctx, chat, hash)
}

// The messages of a room have a collection of their own.
func fillRooms(ctx context.Context, chat *mongo.Database, hash bson.M) error {
	for r := 1; r <= rooms; r++ {
		id, said := room(r), make([]any, messages)
		for m := range said {
			said[m] = bson.M{
				"from": user(m%users + 1),
				"text": fmt.Sprintf("Message %d of %s, as long as people's messages often are.", m+1, id),
				"at":   firstMessage + int64(m)*1000,
			}
		}
		if _, err := chat.Collection("messages-"+id).InsertMany(ctx, said); err != nil {
			return err
		}
		if _, err := chat.Collection("rooms").InsertOne(ctx, bson.M{"_id": id, "password": hash}); err != nil {
			return err
		}
	}
	return nil
}

func fillUsers(ctx context.Context, chat *mongo.Database, hash bson.M) error {
	joined := make([]string, rooms)
	for r := range joined {
		joined[r] = room(r + 1)
	}
	people, sessions := make([]any, users), make([]any, users)
	for u := range people {
		name := user(u + 1)
		// A session is stored under the hash of its token, so that whoever reads the store cannot take it over.
		token := sha256.Sum256([]byte("session-of-" + name))
		people[u] = bson.M{"_id": name, "password": hash}
		sessions[u] = bson.M{"_id": hex.EncodeToString(token[:]), "user": name, "rooms": joined}
	}
	if _, err := chat.Collection("users").InsertMany(ctx, people); err != nil {
		return err
	}
	_, err := chat.Collection("sessions").InsertMany(ctx, sessions)
	return err
}

func user(number int) string { return fmt.Sprintf("user-%03d", number) }

func room(number int) string { return fmt.Sprintf("room-%02d", number) }

// The form in which passwords are stored: scrypt with the parameters that are Node's defaults (RFC 7914).
func hashed(password string) (bson.M, error) {
	salt := []byte("the same for all")
	key, err := scrypt.Key([]byte(password), salt, 16384, 8, 1, 32)
	return bson.M{"salt": hex.EncodeToString(salt), "hash": hex.EncodeToString(key)}, err
}
